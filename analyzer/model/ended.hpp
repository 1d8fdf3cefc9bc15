#pragma once

#include <algorithm>
#include <string_view>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// How a run ended, by its training processes: "recording" where one still does, else
/// "killed" where one was, "clean" where all ended so, and "unknown".
inline std::string_view ended(const Run& run) {
    bool any_killed = false;
    bool all_clean = true;
    bool any = false;
    for (const Process& process : run.processes) {
        if (process.role != Role::main) {
            continue;
        }
        if (process.alive) {
            return "recording";
        }
        any = true;
        any_killed = any_killed || process.ending == "killed";
        all_clean = all_clean && process.ending == "clean";
    }
    if (any_killed) {
        return "killed";
    }
    return any && all_clean ? "clean" : "unknown";
}

}  // namespace metatrain_timing::analyzer
