#include "analyzer/analysis/stage_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/stats/false_discovery.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kFalseStages = 0.05;  // of those that are said to have changed

using Path = std::vector<std::string>;

// A table of parts by path, and the value that a part has in a run.
struct PathTable {
    const char* name = "";
    std::function<const std::vector<PathSum>&(const MeasuredRun&)> parts_of;
    std::function<RunValue(const MeasuredRun&, const PathSum&)> value_of;
    /// Whether a run without this path has it all the same, as 0.
    std::function<bool(const MeasuredRun&, const Path&)> has;
};

bool is_below(const Path& path, std::span<const std::string> parent) {
    return path.size() >= parent.size() &&
           std::equal(parent.begin(), parent.end(), path.begin());
}

// Where a path belongs that is not there: behind all that has its parent, before what
// that leaves unattributed.
std::size_t place_for(const std::vector<Path>& paths, const Path& path) {
    const std::span parent(path.data(), path.size() - 1);
    std::size_t place = paths.size();
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (parent.empty() || !is_below(paths[i], parent)) {
            continue;
        }
        if (paths[i].size() == path.size() && paths[i].back() == kUnattributed) {
            return i;
        }
        place = i + 1;
    }
    return place;
}

std::vector<Path> all_paths(const Sides& sides, const PathTable& table) {
    std::vector<Path> paths;
    for (const auto* side : {&sides.before, &sides.after}) {
        for (const MeasuredRun& run : *side) {
            for (const PathSum& part : table.parts_of(run)) {
                if (std::find(paths.begin(), paths.end(), part.path) == paths.end()) {
                    paths.insert(paths.begin() + static_cast<std::ptrdiff_t>(
                                                     place_for(paths, part.path)),
                                 part.path);
                }
            }
        }
    }
    return paths;
}

const PathSum* find(const std::vector<PathSum>& parts, const Path& path) {
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const PathSum& one) {
        return one.path == path;
    });
    return part == parts.end() ? nullptr : &*part;
}

bool any_has(const std::vector<MeasuredRun>& side, const PathTable& table,
             const Path& path) {
    return std::any_of(side.begin(), side.end(), [&](const MeasuredRun& run) {
        return find(table.parts_of(run), path) != nullptr || table.has(run, path);
    });
}

Metric compare_path(const Sides& sides, const MetricMaker& make, const PathTable& table,
                    const Path& path) {
    const auto value_of = [&](const MeasuredRun& run) {
        const PathSum* part = find(table.parts_of(run), path);
        return part == nullptr ? RunValue{} : table.value_of(run, *part);
    };
    Metric metric = make.absolute(table.name, values_of(sides.before, value_of),
                                  values_of(sides.after, value_of));
    metric.path = path;
    if (!any_has(sides.before, table, path)) {
        metric.before_ns = metric.relative = std::nullopt;
        metric.change = Change::added;
    } else if (!any_has(sides.after, table, path)) {
        metric.after_ns = metric.relative = std::nullopt;
        metric.change = Change::removed;
    }
    return metric;
}

// `whole_ns` is what a stage has to be something of to matter.
void mark(std::vector<Metric>& metrics, const DiffOptions& options, double whole_ns) {
    std::vector<double> p_values;
    for (const Metric& metric : metrics) {
        p_values.push_back(metric.p.value_or(1));
    }
    const std::vector<bool> believed = believe(p_values, kFalseStages);
    const double least_ns = options.min_effect * whole_ns;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        Metric& metric = metrics[i];
        if (metric.change == Change::added || metric.change == Change::removed) {
            continue;
        }
        const double size_ns = std::abs(metric.difference_ns);
        const bool does_not_matter = metric.low_ns.value_or(0) > -least_ns &&
                                     metric.high_ns.value_or(0) < least_ns;
        const bool is_large =
            size_ns >= options.min_effect * std::abs(metric.before_ns.value_or(0)) &&
            size_ns >= least_ns / 4;
        const bool is_sure =
            metric.low_ns.value_or(0) > 0 || metric.high_ns.value_or(0) < 0;
        if (believed[i] && is_sure && is_large) {
            metric.change =
                metric.difference_ns > 0 ? Change::regressed : Change::improved;
        } else {
            metric.change = does_not_matter ? Change::same : Change::inconclusive;
        }
    }
}

std::vector<Metric> compare_table(const Sides& sides, const DiffOptions& options,
                                  const PathTable& table) {
    const MetricMaker make(sides, options);
    std::vector<Metric> metrics;
    for (const Path& path : all_paths(sides, table)) {
        metrics.push_back(compare_path(sides, make, table, path));
    }
    return metrics;
}

RunValue per_step(const MeasuredRun& run, const PathSum& part) {
    const VarianceTerm error = batch_variance(part.sums_ns, run.batch_steps);
    return {part.total_ns() / run.steps() / run.units,
            {error.variance / (run.units * run.units), error.df}};
}

RunValue per_fetch(const MeasuredRun& run, const PathSum& part) {
    const FetchParts& fetches = run.compared->fetches;
    const VarianceTerm error = batch_variance(part.sums_ns, fetches.counts);
    return {part.total_ns() / static_cast<double>(fetches.count()) / run.units,
            {error.variance / (run.units * run.units), error.df}};
}

// A wait is cut by what was done meanwhile: a stage that is always hidden is there.
bool is_hidden_stage(const MeasuredRun& run, const Path& path) {
    const std::vector<std::string>& stages = run.compared->run->stages;
    return path.size() == 2 && path.front() == "loader" &&
           std::find(stages.begin(), stages.end(), path.back()) != stages.end();
}

}  // namespace

std::vector<Metric> compare_stages(const Sides& sides, const DiffOptions& options) {
    const PathTable table{
        "stage", [](const MeasuredRun& run) -> const auto& { return run.parts; },
        per_step, is_hidden_stage};
    std::vector<Metric> metrics = compare_table(sides, options, table);
    mark(metrics, options, step_ns(sides));
    return metrics;
}

std::vector<Metric> compare_fetches(const Sides& sides, const DiffOptions& options) {
    const PathTable table{"worker_stage",
                          [](const MeasuredRun& run) -> const auto& {
                              return run.compared->fetches.parts;
                          },
                          per_fetch,
                          [](const MeasuredRun&, const Path&) { return false; }};
    std::vector<Metric> metrics = compare_table(sides, options, table);
    double fetch_ns = 0;
    for (const Metric& metric : metrics) {
        if (metric.path.size() == 1) {
            fetch_ns = std::max(fetch_ns, metric.before_ns.value_or(0));
        }
    }
    mark(metrics, options, fetch_ns);
    return metrics;
}

}  // namespace metatrain_timing::analyzer
