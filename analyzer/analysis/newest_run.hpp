#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "analyzer/analysis/run_levels.hpp"

namespace metatrain_timing::analyzer {

enum class NewestVerdict : std::uint8_t { normal, slower, faster, unknown };

std::string_view to_string(NewestVerdict verdict);

/// The newest run beside those of its level before it.
struct NewestRun {
    NewestVerdict verdict = NewestVerdict::unknown;
    std::optional<double> low;  // one more run of the level lies between these
    std::optional<double> high;
    bool again = false;    // so was the run before it
    std::size_t runs = 0;  // it is judged by
};

/// By the prediction interval of one more value (Student's t; Hahn and Meeker,
/// Statistical Intervals, 1991, section 4.7), of the runs of the last level without
/// spikes. Odd is a value outside of it by which the level would also shift by `least`.
/// Where both last runs are odd the interval is of those before them. Unknown where
/// there are fewer than four such runs. `within` is the variance of a value that its
/// run itself tells: no run is known better. Pure.
NewestRun judge_newest(std::span<const double> series, const RunLevels& levels,
                       double within, double least, double confidence);

}  // namespace metatrain_timing::analyzer
