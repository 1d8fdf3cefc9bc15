#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/newest_run.hpp"
#include "analyzer/analysis/run_facts.hpp"
#include "analyzer/analysis/run_levels.hpp"
#include "analyzer/analysis/run_order.hpp"
#include "analyzer/model/run.hpp"
#include "analyzer/model/run_digest.hpp"

namespace metatrain_timing::analyzer {

struct HistoryOptions {
    std::string metric = "step";  // see metric_ns()
    double min_effect = 0.02;     // smaller changes are not told
    double confidence = 0.95;     // of changes
    double prediction = 0.99;     // of where the newest run is expected
    std::string by;  // runs with other values of this setting are a series of their own
};

/// What a stage takes on both sides of a change, in nanoseconds.
struct StageShift {
    StagePath path;
    double before_ns = 0;
    double after_ns = 0;

    double difference_ns() const { return after_ns - before_ns; }
};

/// A change of level between two runs.
struct HistoryChange {
    std::size_t run = 0;  // index in the series: the first one after it
    double before_ns = 0;
    double after_ns = 0;
    std::optional<double> relative;  // after / before - 1; nothing where before is 0
    std::optional<double> low;       // of that
    std::optional<double> high;
    double p = 1;
    std::vector<StageShift> stages;    // of a step; the outermost add up to its change
    std::vector<ChangedFact> changed;  // settings that changed there
};

/// A setting whose blocks of runs cannot be told from a drift.
struct SettingOrder {
    std::string key;
    OrderEffect effect;  // difference and by_drift are relative
};

enum class HistoryVerdict : std::uint8_t { regressed, improved, same, inconclusive };

std::string_view to_string(HistoryVerdict verdict);

/// A change that so few runs, or fewer, have followed is news.
inline constexpr std::size_t kRecentRuns = 5;

/// Runs of one workload, oldest first. Values are in nanoseconds.
struct HistorySeries {
    std::map<std::string, std::string> workload;
    std::vector<const RunDigest*> runs;
    std::vector<double> values_ns;
    std::vector<double> level_ns;       // of the level that each run belongs to
    std::vector<std::size_t> spikes;    // runs that are far from their level, alone
    std::vector<RunStretch> stretches;  // neighbours that are, together
    std::size_t lacking = 0;            // runs without the metric, which count as 0
    std::vector<HistoryChange> changes;
    NewestRun newest;             // low and high in nanoseconds
    std::optional<double> drift;  // of the last level, relative, for each run
    std::vector<SettingOrder> order_effects;
    HistoryVerdict verdict = HistoryVerdict::inconclusive;
    bool current = true;  // its newest run is at most 30 days older than that of all

    /// Whether the last change is news.
    bool has_recent_change() const {
        return !changes.empty() && changes.back().run + kRecentRuns >= runs.size();
    }
};

struct History {
    HistoryOptions options;
    std::vector<HistorySeries> series;  // that with the newest run first

    /// What the verdict of all is about: the first current series that regressed, else
    /// the first.
    const HistorySeries& deciding() const;
};

/// When the step time, or another one, changed over many runs, and because of what.
///
/// Runs are grouped by workload, as diff compares them, and ordered by when they began.
/// The verdict of a series is `regressed` or `improved` where its level changed within
/// the last five runs, or where the last two are odd; `inconclusive` where the newest
/// alone is odd or cannot be judged. The result points to `runs`, whose first of each
/// uuid counts. Pure and deterministic; O(1000 n) for each change.
///
/// @throws Error (usage) for a metric or setting that no run has.
History make_history(std::span<const RunDigest> runs, const HistoryOptions& options);

}  // namespace metatrain_timing::analyzer
