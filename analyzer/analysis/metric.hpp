#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metatrain_timing::analyzer {

/// What became of a time, from one side to the other.
enum class Change : std::uint8_t {
    regressed,       // longer, and by the least effect or more
    improved,        // shorter
    same,            // any difference is smaller than the least effect
    inconclusive,    // the data cannot tell
    not_comparable,  // the runs did different work
    added,           // only the second side has it
    removed,         // only the first side has it
};

std::string_view to_string(Change change);

/// One time on both sides, in nanoseconds per step, or per unit of the unit of the
/// diff, or per batch or epoch where its name says so.
struct Metric {
    /// "step", "stage", "worker_stage", "median", "p95", "p99", "mean", "wall",
    /// "long_steps", "warm_up", "epoch_start", "outside".
    std::string name;
    std::vector<std::string> path;  // of a stage
    std::optional<double> before_ns;
    std::optional<double> after_ns;
    double difference_ns = 0;
    std::optional<double> low_ns;  // of the difference
    std::optional<double> high_ns;
    std::optional<double> relative;  // after / before - 1; nothing where before is 0
    std::optional<double> relative_low;
    std::optional<double> relative_high;
    std::optional<double> p;
    Change change = Change::inconclusive;

    std::string stage() const;  // the path joined by "/"
};

}  // namespace metatrain_timing::analyzer
