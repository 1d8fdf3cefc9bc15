#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"
#include "analyzer/model/stage_path.hpp"

namespace metatrain_timing::analyzer {

/// What a path of stages took, in nanoseconds.
struct StageTime {
    StagePath path;
    double ns = 0;
};

/// What of one phase of a run is compared with other runs: enough to tell when and
/// because of what the step time changed, without a single interval.
struct RunDigest {
    std::string path;  // where it was found
    std::string uuid;
    std::int64_t started_unix_ns = 0;
    std::map<std::string, std::string> workload;  // as in LearnedNoise
    std::map<std::string, std::string> settings;  // the other facts
    std::int64_t steps = 0;  // steady ones; 0: there is nothing to compare
    double step_ns = 0;      // mean of these, long ones cut
    double within = 0;  // relative standard error of step_ns that the run itself tells
    double mean_ns = 0;
    double median_ns = 0;
    double p95_ns = 0;
    double p99_ns = 0;
    std::vector<StageTime> stages;   // per step; the outermost add up to step_ns
    std::vector<StageTime> fetches;  // per batch, whoever makes it
    bool shifted = false;            // the step time changed in the middle
    bool ended = true;               // every process by itself: nothing more will come
    std::vector<Warning> warnings;   // of reading the run
};

}  // namespace metatrain_timing::analyzer
