#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis/history.hpp"

namespace metatrain_timing::analyzer {

/// "REGRESSED  step +6.2 % since run 17 of 21 (2026-10-11 14:02:11), 38.9 ms -> 41.3
/// ms"; what is said of the deciding series.
std::string history_headline(const History& history);

/// "phase train, loader.batch_size 8": what tells a series from the others.
std::string series_name(const History& history, const HistorySeries& series);

/// "waiting for `collate` +2.3 ms": the stages that make most of a change, greatest
/// first.
std::string change_reason(const HistoryChange& change);

/// What is said of a series below its changes: the newest run, spikes, drift, the order
/// of runs.
std::vector<std::string> series_notes(const HistorySeries& series);

}  // namespace metatrain_timing::analyzer
