#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace metatrain_timing::analyzer {

struct Report;

/// Something else than the dearest stage that may hold a training up.
enum class Suspect : std::uint8_t {
    epoch_starts,  // starts and ends of passes: workers made anew, first batches
    head_of_line,  // batches that lay ready while an earlier one was waited for
    training_cpu,  // the training thread could run and had no CPU
    worker_cpu,    // waits for batches whose workers could run and had no CPU
    ranks,         // the other ranks wait for one of them
};

std::string_view to_string(Suspect suspect);

/// From here on it is said to hold the training up, of the time: what runs of one
/// training differ by anyway is about half of it (docs/report.md).
inline constexpr double kHoldsUp = 0.05;

struct Check {
    Suspect suspect = Suspect::epoch_starts;
    /// Part of the time; for `ranks` of a step. Nothing: it is not on record.
    std::optional<double> share;

    bool holds_up() const { return share && *share >= kHoldsUp; }
};

/// Of `report.phases.front()`, each suspect that it can have: without workers there is
/// no `worker_cpu`, with one rank no `ranks`. `between_share` and `wait_share` are
/// those of the verdict.
std::vector<Check> check_suspects(const Report& report, double between_share,
                                  double wait_share);

}  // namespace metatrain_timing::analyzer
