#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Process lives of one place in the run that ended in the same way.
struct ProcessLives {
    Role role = Role::main;
    std::int64_t rank = 0;
    std::optional<std::int64_t> worker;
    std::int32_t loader = -1;  // index into Run::loaders
    std::int64_t lives = 0;
    std::string ending;      // "clean", "killed" or "unknown"
    std::string raised;      // the exception that ended it, or empty
    bool alive = false;      // recording right now
    std::string open_stage;  // innermost stage that was open at the end, or empty
    std::int64_t dropped = 0;
    std::int64_t life_ns = 0;  // summed over lives
};

std::string_view to_string(Role role);

/// Rows by role, rank, loader, worker.
std::vector<ProcessLives> list_processes(const Run& run);

}  // namespace metatrain_timing::analyzer
