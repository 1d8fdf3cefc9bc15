#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/id_map.hpp"
#include "analyzer/load/tables.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Where a track of a file is in the model.
struct TrackTarget {
    std::size_t process = 0;
    std::size_t track = 0;
};

/// Ids of one file to indices into the model. `tracks` leads into `track_targets`.
struct FileIds {
    IdMap processes;
    IdMap tracks;
    IdMap stages;
    IdMap iterators;
    IdMap counter_names;
    std::vector<TrackTarget> track_targets;
    std::int64_t skipped_rows =
        0;  // of small tables: they refer to rows that are not there
};

struct AssembledRun {
    Run run;  // all but files, intervals and counters
    std::vector<FileIds> files;
    std::vector<std::optional<std::string>> stored_phases;  // of run.iterators
    std::vector<std::int32_t>
        loader_writers;  // of run.loaders: who wrote the row, -1: none
};

/// What is known of a file beside its tables.
struct FileTraits {
    bool live = false;
    /// Number of intervals of a process (by its id); asked only where two files hold
    /// the same process, to keep the fuller record.
    std::function<std::int64_t(std::int64_t)> interval_count;
};

/// Puts the small tables of all files together into the run `identity.uuid`.
///
/// A process that several files hold (a merged file beside its parts) is taken once.
/// Workers' copies of loaders and passes are folded onto the owner's, found by its uuid
/// and their number. Processes are sorted by role, rank and start, so that the result
/// does not depend on the order of the files.
AssembledRun assemble(const RunRow& identity, const std::vector<FileTables>& tables,
                      const std::vector<FileTraits>& traits);

}  // namespace metatrain_timing::analyzer
