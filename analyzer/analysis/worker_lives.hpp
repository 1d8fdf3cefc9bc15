#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What the lives of one worker number of one loader were spent on for a phase group:
/// life = busy + idle + start + unattributed.
struct WorkerTime {
    std::int64_t rank = 0;
    std::int64_t worker = 0;
    std::int32_t loader = -1;  // index into Run::loaders
    std::int64_t lives = 0;
    std::int64_t life_ns = 0;
    std::int64_t busy_ns = 0;   // fetching batches
    std::int64_t idle_ns = 0;   // waiting for an index
    std::int64_t start_ns = 0;  // from its birth to its first wait for an index
    std::int64_t unattributed_ns = 0;
    std::int64_t batches = 0;
};

/// The track of a worker that fetches (the others send), -1: it recorded nothing.
std::int32_t fetching_track(const Run& run, const Process& worker);

/// The pass that each outermost interval of a worker's track serves: its own, else
/// (idle and start may have none) that of the next interval that has one, else of the
/// last. In the order of the outermost intervals; index into Run::iterators or -1.
std::vector<std::int32_t> passes_served(const Track& track);

/// The same of an outermost node of its totals: its own, else any that the track
/// serves.
std::int32_t pass_served(const Track& track, const IntervalTotal& total);

/// The workers of each group, in the order of `groups`; each list by rank, loader,
/// worker.
std::vector<std::vector<WorkerTime>> measure_workers(const Run& run,
                                                     const PhaseGroups& groups);

}  // namespace metatrain_timing::analyzer
