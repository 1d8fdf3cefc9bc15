#include "analyzer/analysis/metric_maker.hpp"

#include <algorithm>
#include <cmath>

namespace metatrain_timing::analyzer {

Values values_of(const std::vector<MeasuredRun>& side, const ValueOf& value_of) {
    Values values;
    for (const MeasuredRun& run : side) {
        values.push_back(value_of(run));
    }
    return values;
}

double step_ns(const Sides& sides) {
    return mean_of(values_of(sides.before, [](const MeasuredRun& run) {
        return RunValue{run.step.mean, {}};
    }));
}

Difference MetricMaker::difference_of(const Values& before, const Values& after,
                                      double scale) const {
    if (sides_.are_same) {
        return {};
    }
    const double noise = options_.noise.relative * scale;
    return estimate_difference(before, after, {noise * noise, options_.noise.df});
}

Metric MetricMaker::relative(const std::string& name, const ValueOf& value_of) const {
    constexpr double kShortest = 1e-3;  // ns: a logarithm needs one
    Values before = values_of(sides_.before, value_of);
    Values after = values_of(sides_.after, value_of);
    Metric metric;
    metric.name = name;
    metric.before_ns = mean_of(before);
    metric.after_ns = mean_of(after);
    metric.difference_ns = *metric.after_ns - *metric.before_ns;
    for (Values* side : {&before, &after}) {
        for (RunValue& run : *side) {
            run.value = std::log(std::max(run.value, kShortest));
        }
    }
    const Difference difference = difference_of(before, after, 1);
    const double half = half_width(difference.error, options_.confidence);
    metric.relative = std::expm1(difference.value);
    metric.relative_low = std::expm1(difference.value - half);
    metric.relative_high = std::expm1(difference.value + half);
    metric.low_ns = *metric.before_ns * *metric.relative_low;
    metric.high_ns = *metric.before_ns * *metric.relative_high;
    metric.p = two_sided_p(difference.value, difference.error);
    metric.change = decide(difference.value, difference.value - half,
                           difference.value + half, std::log1p(options_.min_effect));
    return metric;
}

Metric MetricMaker::absolute(const std::string& name, const Values& before,
                             const Values& after) const {
    Metric metric;
    metric.name = name;
    metric.before_ns = mean_of(before);
    metric.after_ns = mean_of(after);
    const double scale = std::max(std::abs(mean_of(before)), std::abs(mean_of(after)));
    const Difference difference = difference_of(before, after, scale);
    const double half = half_width(difference.error, options_.confidence);
    metric.difference_ns = difference.value;
    metric.low_ns = difference.value - half;
    metric.high_ns = difference.value + half;
    metric.p = two_sided_p(difference.value, difference.error);
    if (*metric.before_ns > 0) {
        metric.relative = difference.value / *metric.before_ns;
    }
    return metric;
}

Metric MetricMaker::plain(const std::string& name, const ValueOf& value_of) const {
    Metric metric;
    metric.name = name;
    metric.before_ns = mean_of(values_of(sides_.before, value_of));
    metric.after_ns = mean_of(values_of(sides_.after, value_of));
    metric.difference_ns = *metric.after_ns - *metric.before_ns;
    if (*metric.before_ns > 0) {
        metric.relative = metric.difference_ns / *metric.before_ns;
    }
    return metric;
}

Change MetricMaker::judge(const Metric& metric, double least_ns) const {
    return decide(metric.difference_ns, metric.low_ns.value_or(0),
                  metric.high_ns.value_or(0), least_ns);
}

Change MetricMaker::decide(double value, double low, double high, double least) const {
    if (options_.strict ? low > least : low > 0 && value >= least) {
        return Change::regressed;
    }
    if (options_.strict ? high < -least : high < 0 && value <= -least) {
        return Change::improved;
    }
    const bool is_none = value == 0 && low == 0 && high == 0;
    return is_none || (low > -least && high < least) ? Change::same
                                                     : Change::inconclusive;
}

}  // namespace metatrain_timing::analyzer
