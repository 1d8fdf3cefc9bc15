#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace metatrain_timing::analyzer {

/// What is asked of `mt-analyze whatif`. What is empty stays as it was recorded.
struct WhatIfQuestion {
    std::vector<std::int64_t> num_workers;
    std::vector<std::int64_t> prefetch_factor;
    std::vector<bool> in_order;
    std::vector<bool> persistent_workers;
    std::vector<bool> pin_memory;
    /// Stages made cheaper or dearer: name -> part of what they take now.
    std::map<std::string, double> scale;
    std::string phase;  // empty: the one that the report is about

    static constexpr std::int64_t kMostWorkers = 256;
    static constexpr std::int64_t kMostPrefetch = 1024;
    static constexpr double kMostScale = 1000;

    /// Adds "STAGE=FACTOR"; names of stages may hold '='.
    /// @throws Error (usage) with one line.
    void add_scale(const std::string& text);
};

/// A question of options as `run_json()` takes them: lists by commas ("0,1,2",
/// "true,false"), `scale` by lines.
/// @throws Error (usage) with one line.
WhatIfQuestion read_question(const std::map<std::string, std::string>& options);

}  // namespace metatrain_timing::analyzer
