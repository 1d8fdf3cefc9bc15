#include "analyzer/analysis/time_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/stats/mean.hpp"
#include "analyzer/stats/quantiles.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Of the mean of independent values.
VarianceTerm error_of(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    return values.size() < 2 ? VarianceTerm{}
                             : VarianceTerm{sample_variance(values) / count, count - 1};
}

using Lengths = std::vector<std::int64_t>;
using Statistic = std::function<double(Lengths&)>;

Lengths lengths(std::span<const CriticalStep> steps) {
    Lengths result;
    result.reserve(steps.size());
    for (const CriticalStep& step : steps) {
        result.push_back(step.dur_ns);
    }
    return result;
}

RunValue of_batches(const MeasuredRun& run, const Statistic& statistic) {
    const std::span<const CriticalStep> steps = run.range.steps;
    std::vector<double> values;
    for (std::size_t b = 0; b < kSeriesBatches; ++b) {
        if (run.batch_steps[b] > 0) {
            Lengths batch = lengths(
                steps.subspan(batch_begin(b, steps.size()), run.batch_steps[b]));
            values.push_back(statistic(batch));
        }
    }
    Lengths all = lengths(steps);
    const double value = statistic(all);
    VarianceTerm error = error_of(values);
    error.variance = value > 0 ? error.variance / (value * value) : 0;
    return {value / run.units, error};
}

Statistic quantile_at(double q) {
    return [q](Lengths& values) { return quantile(values, q).value_or(0); };
}

double mean_length(Lengths& values) {
    double sum = 0;
    for (const std::int64_t value : values) {
        sum += static_cast<double>(value);
    }
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Fewer steps beyond a quantile tell nothing of how well it is known.
constexpr std::size_t kFewestBeyond = 10;

std::size_t fewest_steps(const Sides& sides) {
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (const auto* side : {&sides.before, &sides.after}) {
        for (const MeasuredRun& run : *side) {
            fewest = std::min(fewest, run.range.steps.size());
        }
    }
    return fewest;
}

void forget_interval(Metric& metric) {
    metric.low_ns = metric.high_ns = std::nullopt;
    metric.relative_low = metric.relative_high = metric.p = std::nullopt;
    metric.change = Change::inconclusive;
}

using PartOfAccount = double PhaseAccount::*;

Metric compare_account(const Sides& sides, const DiffOptions& options, const char* name,
                       PartOfAccount part) {
    return MetricMaker(sides, options).plain(name, [part](const MeasuredRun& run) {
        const double steps = std::max(run.account.steps, 1.0);
        return RunValue{run.account.*part / steps / run.units, {}};
    });
}

}  // namespace

Metric compare_steps(const Sides& sides, const DiffOptions& options) {
    return MetricMaker(sides, options).relative("step", [](const MeasuredRun& run) {
        return RunValue{run.step.mean, run.step.error};
    });
}

std::vector<Metric> compare_distribution(const Sides& sides,
                                         const DiffOptions& options) {
    const MetricMaker make(sides, options);
    const std::size_t steps = fewest_steps(sides);
    const auto compare = [&](const char* name, const Statistic& statistic,
                             std::size_t least_steps) {
        Metric metric = make.relative(
            name, [&](const MeasuredRun& run) { return of_batches(run, statistic); });
        if (steps < least_steps && !sides.are_same) {
            forget_interval(metric);
        }
        return metric;
    };
    return {compare("mean", mean_length, 0), compare("median", quantile_at(0.5), 0),
            compare("p95", quantile_at(0.95), kFewestBeyond * 20),
            compare("p99", quantile_at(0.99), kFewestBeyond * 100)};
}

Metric compare_wall(const Sides& sides, const DiffOptions& options) {
    return compare_account(sides, options, "wall", &PhaseAccount::wall_ns);
}

std::vector<Metric> compare_beyond(const Sides& sides, const DiffOptions& options) {
    return {
        compare_account(sides, options, "long_steps", &PhaseAccount::long_steps_ns),
        compare_account(sides, options, "warm_up", &PhaseAccount::warm_up_ns),
        compare_account(sides, options, "epoch_start", &PhaseAccount::epoch_starts_ns),
        compare_account(sides, options, "outside", &PhaseAccount::outside_ns),
    };
}

Metric compare_epoch_starts(const Sides& sides, const DiffOptions& options) {
    const auto value_of = [](const MeasuredRun& run) {
        return RunValue{mean_of(run.account.starts_ns),
                        error_of(run.account.starts_ns)};
    };
    const MetricMaker make(sides, options);
    Metric metric = make.absolute("epoch_start", values_of(sides.before, value_of),
                                  values_of(sides.after, value_of));
    const auto has_epochs = [](const MeasuredRun& run) {
        return run.account.starts_ns.size() > 1;
    };
    if (std::all_of(sides.before.begin(), sides.before.end(), has_epochs) &&
        std::all_of(sides.after.begin(), sides.after.end(), has_epochs)) {
        metric.change = make.judge(
            metric, options.min_effect * std::abs(metric.before_ns.value_or(0)));
    } else {
        forget_interval(metric);
    }
    return metric;
}

}  // namespace metatrain_timing::analyzer
