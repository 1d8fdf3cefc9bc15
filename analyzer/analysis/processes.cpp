#include "analyzer/analysis/processes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace metatrain_timing::analyzer {
namespace {

// The innermost open interval of the thread that has most of them open: the one that
// was doing the work.
std::string open_stage(const Run& run, const Process& process) {
    const Track* deepest = nullptr;
    for (const Track& track : process.tracks) {
        if (!track.open.empty() &&
            (deepest == nullptr || track.open.size() > deepest->open.size())) {
            deepest = &track;
        }
    }
    if (deepest == nullptr) {
        return "";
    }
    const auto innermost = std::max_element(
        deepest->open.begin(), deepest->open.end(),
        [](const Interval& a, const Interval& b) { return a.depth < b.depth; });
    return run.stages[innermost->stage];
}

std::int64_t life_ns(const Process& process) {
    std::int64_t last = process.ended_ns.value_or(process.started_ns);
    for (const Track& track : process.tracks) {
        if (!track.intervals.empty()) {
            last = std::max(last, track.intervals.back().end_ns());
        }
    }
    return last - process.started_ns;
}

std::string raised(const Process& process) {
    for (const auto& [key, value] : process.environment) {
        if (key == "exit.exception") {
            return value;
        }
    }
    return "";
}

}  // namespace

std::string_view to_string(Role role) {
    switch (role) {
        case Role::main:
            return "main";
        case Role::worker:
            return "worker";
        case Role::child:
            return "child";
    }
    return "child";
}

std::vector<ProcessLives> list_processes(const Run& run) {
    using Key = std::tuple<Role, std::int64_t, std::int32_t, std::int64_t, bool,
                           std::string, std::string, std::string>;
    std::map<Key, ProcessLives> rows;
    for (const Process& process : run.processes) {
        const std::string stage = open_stage(run, process);
        const std::string exception = raised(process);
        ProcessLives& row = rows[{process.role, process.rank, process.loader,
                                  process.worker_id.value_or(-1), process.alive,
                                  process.ending, exception, stage}];
        row.role = process.role;
        row.rank = process.rank;
        row.worker = process.worker_id;
        row.loader = process.loader;
        row.lives += 1;
        row.ending = process.ending.empty() ? "unknown" : process.ending;
        row.raised = exception;
        row.alive = process.alive;
        row.open_stage = stage;
        row.dropped += process.dropped_count;
        row.life_ns += life_ns(process);
    }
    std::vector<ProcessLives> list;
    for (auto& [key, row] : rows) {
        list.push_back(std::move(row));
    }
    return list;
}

}  // namespace metatrain_timing::analyzer
