#pragma once

#include <cstdint>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/run_file.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Rows of the large tables that could not be taken into the model.
struct IntervalProblems {
    std::int64_t dangling = 0;    // refer to rows that are not there
    std::int64_t impossible = 0;  // negative length, or an end beyond 64 bits
    std::int64_t cut = 0;         // ended after the interval they began in

    void add(const IntervalProblems& other);
};

/// Reads `interval`, `open_interval` and `counter` of one file into the tracks of `run`
/// that `ids` leads to. Different files have different tracks, so that several threads
/// may fill one run at a time. Tracks come out sorted and properly nested.
///
/// `problems` is added to, also where this throws DatabaseError in the middle of a
/// damaged file: what came before is in the model then.
void read_intervals(RunFile& file, const FileIds& ids, Run& run,
                    IntervalProblems& problems);

/// Whether `read_intervals_in_parallel()` is worth its while and possible.
bool is_large(RunFile& file);

/// `read_intervals()` by two threads, each with a connection of its own, which read
/// chunks of this many ids in turns.
void read_intervals_in_parallel(RunFile& file, const FileIds& ids, Run& run,
                                IntervalProblems& problems,
                                std::uint64_t chunk_size = 1 << 17);

}  // namespace metatrain_timing::analyzer
