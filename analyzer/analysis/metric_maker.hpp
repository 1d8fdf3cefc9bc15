#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/analysis/diff_options.hpp"
#include "analyzer/analysis/measured_run.hpp"
#include "analyzer/analysis/metric.hpp"
#include "analyzer/stats/estimate.hpp"

namespace metatrain_timing::analyzer {

/// The runs of both sides of a diff, each with at least one.
struct Sides {
    std::vector<MeasuredRun> before;
    std::vector<MeasuredRun> after;
    bool are_same = false;  // the same runs: there is no difference at all
};

using Values = std::vector<RunValue>;
using ValueOf = std::function<RunValue(const MeasuredRun&)>;

/// A value of each run of a side.
Values values_of(const std::vector<MeasuredRun>& side, const ValueOf& value_of);

/// Mean step of the first side, per unit.
double step_ns(const Sides& sides);

/// Makes metrics of values of both sides.
class MetricMaker {
  public:
    MetricMaker(const Sides& sides, const DiffOptions& options)
        : sides_(sides), options_(options) {}

    /// Of a time above 0 whose variance is relative: the difference is estimated on the
    /// log scale, and judged.
    Metric relative(const std::string& name, const ValueOf& value_of) const;

    /// Of a time that may be 0. The noise of runs is a part of the greater of both. To
    /// be judged by the caller.
    Metric absolute(const std::string& name, const Values& before,
                    const Values& after) const;

    /// Of a time of which only the value is known.
    Metric plain(const std::string& name, const ValueOf& value_of) const;

    /// By its interval, `least_ns` being what matters.
    Change judge(const Metric& metric, double least_ns) const;

  private:
    Change decide(double value, double low, double high, double least) const;
    Difference difference_of(const Values& before, const Values& after,
                             double scale) const;

    const Sides& sides_;
    const DiffOptions& options_;
};

}  // namespace metatrain_timing::analyzer
