#pragma once

#include <cstddef>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Sorts the intervals of a track by start, a parent before its children, and makes
/// them nest properly: one that ends after the interval it began in is cut at that end.
/// Returns how many were cut. `cpu_ns`, where not empty, is kept parallel.
///
/// Recorders write intervals in the order of their ends, so that each outermost
/// interval follows those inside it: sorting costs O(n log k), k being the intervals of
/// one turn.
std::size_t sort_and_nest(Track& track);

}  // namespace metatrain_timing::analyzer
