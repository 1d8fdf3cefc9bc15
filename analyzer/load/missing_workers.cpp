#include "analyzer/load/missing_workers.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/load/counted.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Workers of each loader that no process of the run is.
std::vector<std::int64_t> missing_per_loader(const Run& run) {
    std::vector<std::set<std::int64_t>> seen(run.loaders.size());
    for (const Process& process : run.processes) {
        if (process.role == Role::worker && process.loader >= 0 && process.worker_id) {
            seen[static_cast<std::size_t>(process.loader)].insert(*process.worker_id);
        }
    }
    std::vector<std::int64_t> missing;
    for (std::size_t i = 0; i < run.loaders.size(); ++i) {
        const Loader& loader = run.loaders[i];
        const auto found = static_cast<std::int64_t>(seen[i].size());
        // without the owner's file its passes are not known
        missing.push_back(loader.process < 0
                              ? 0
                              : std::max<std::int64_t>(0, loader.num_workers - found));
    }
    return missing;
}

}  // namespace

std::int64_t missing_worker_files(const Run& run) {
    const std::vector<std::int64_t> missing = missing_per_loader(run);
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // time, workers more
    for (const Iterator& iterator : run.iterators) {
        const auto loader = static_cast<std::size_t>(iterator.loader);
        if (missing[loader] == 0) {
            continue;
        }
        const auto owner = static_cast<std::size_t>(run.loaders[loader].process);
        if (!iterator.ended_ns && run.processes[owner].alive) {
            continue;  // its workers may not have written yet
        }
        changes.emplace_back(iterator.started_ns, missing[loader]);
        changes.emplace_back(
            iterator.ended_ns.value_or(std::numeric_limits<std::int64_t>::max()),
            -missing[loader]);
    }
    std::sort(changes.begin(), changes.end());  // at one instant, ends first
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const auto& [time, change] : changes) {
        now += change;
        most = std::max(most, now);
    }
    return most;
}

void warn_about_missing_files(const Run& run, std::vector<Warning>& warnings) {
    const std::int64_t missing = missing_worker_files(run);
    if (missing > 0) {
        warnings.push_back(
            {"worker_files_missing",
             counted(missing, "worker file") +
                 " not found: what these workers did is not known; keep run.db and "
                 "run.db.d/"
                 " together, or carry home what 'mt-analyze merge' makes"});
    }
}

}  // namespace metatrain_timing::analyzer
