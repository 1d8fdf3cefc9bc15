#pragma once

#include <cstdint>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/database.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Rows of the large tables that could not be taken into the model.
struct IntervalProblems {
    std::int64_t dangling = 0;    // refer to rows that are not there
    std::int64_t impossible = 0;  // negative length, or an end beyond 64 bits
    std::int64_t cut = 0;         // ended after the interval they began in
};

/// Reads `interval`, `open_interval` and `counter` of one file into the tracks of `run`
/// that `ids` leads to. Different files have different tracks, so that several threads
/// may fill one run at a time. Tracks come out sorted and properly nested.
IntervalProblems read_intervals(const Database& db, const FileIds& ids, Run& run);

}  // namespace metatrain_timing::analyzer
