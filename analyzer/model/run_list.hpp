#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// A run as `mt-analyze runs` lists it.
struct RunSummary {
    std::size_t index = 0;  // from 1, oldest first: what --run and '@' take
    std::string uuid;
    std::int64_t attempt = 1;
    std::int64_t started_unix_ns = 0;
    std::string command;
    std::string host;
    std::int64_t rank_count = 0;  // training processes, by rank
    std::int64_t step_count = 0;  // completed training steps of the lowest rank
    std::string ended;            // see ended()
    bool newest = false;
};

struct RunList {
    std::vector<RunSummary> runs;
    std::vector<FileStatus> files;
    std::vector<Warning> warnings;
};

}  // namespace metatrain_timing::analyzer
