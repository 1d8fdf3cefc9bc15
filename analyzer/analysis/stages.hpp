#pragma once

#include <string>
#include <string_view>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Name of the rows that hold what no recorded stage explains.
inline constexpr std::string_view kUnattributed = "unattributed";

/// A run's numbers of the stages that analyses know by name; see "Stages" in
/// docs/design.md. A stage the run does not have is -1 and equals no interval's.
struct StageNumbers {
    int loader = -1;
    int loader_end = -1;
    int step = -1;
    int backward = -1;
    int optimizer = -1;
    int worker_start = -1;
    int worker_resume = -1;
    int worker_idle = -1;
    int fetch = -1;
    int dataset = -1;
    int collate = -1;
    int put_index = -1;
    int send = -1;
    int receive = -1;
    int pin = -1;

    explicit StageNumbers(const Run& run);
};

/// Whether `interval` is of stage `number`.
inline bool is(const Interval& interval, int number) {
    return static_cast<int>(interval.stage) == number;
}

}  // namespace metatrain_timing::analyzer
