#include "analyzer/analysis/history.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/analysis/history_metric.hpp"
#include "analyzer/error.hpp"
#include "analyzer/stats/mean.hpp"
#include "analyzer/stats/student.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::int64_t kCurrentNs = 30LL * 86'400 * 1'000'000'000;

// Values are compared as parts of each other, where that can be.
class Scale {
  public:
    explicit Scale(std::span<const double> values_ns)
        : is_log_(std::all_of(values_ns.begin(), values_ns.end(),
                              [](double value) { return value > 0; })),
          unit_ns_(std::max(mean_of(values_ns), 1.0)) {}

    double part(double ns) const { return is_log_ ? std::log(ns) : ns / unit_ns_; }
    double ns(double part) const { return is_log_ ? std::exp(part) : part * unit_ns_; }
    double least(double effect) const { return is_log_ ? std::log1p(effect) : effect; }

  private:
    bool is_log_;
    double unit_ns_;
};

std::vector<double> parts_of(std::span<const double> values_ns, const Scale& scale) {
    std::vector<double> parts;
    parts.reserve(values_ns.size());
    for (const double value : values_ns) {
        parts.push_back(scale.part(value));
    }
    return parts;
}

std::string value_of(const RunDigest& run, const std::string& key) {
    const auto found = run.settings.find(key);
    return found == run.settings.end() ? std::string() : found->second;
}

std::set<std::string> setting_keys(std::span<const RunDigest* const> runs) {
    std::set<std::string> keys;
    for (const RunDigest* run : runs) {
        for (const auto& [key, value] : run->settings) {
            keys.insert(key);
        }
    }
    return keys;
}

// Everything that is told of a series, of its parts on one scale.
class SeriesMaker {
  public:
    SeriesMaker(HistorySeries& series, const HistoryOptions& options)
        : series_(series),
          options_(options),
          scale_(series.values_ns),
          parts_(parts_of(series.values_ns, scale_)),
          least_(scale_.least(options.min_effect)),
          found_(find_levels(parts_, least_)) {}

    void make() {
        for (std::size_t i = 0; i < found_.levels.size(); ++i) {
            const RunLevel& level = found_.levels[i];
            series_.level_ns.resize(level.end, scale_.ns(level.value));
            if (i > 0) {
                series_.changes.push_back(change_to(i));
            }
        }
        judge_newest_run();
        series_.spikes = found_.spikes;
        series_.stretches = found_.stretches;
        if (series_.newest.verdict != NewestVerdict::normal) {
            std::erase(series_.spikes, parts_.size() - 1);  // told as the newest
        }
        find_drift();
        find_orders();
        decide();
    }

  private:
    bool is_spike(std::size_t run) const {
        return std::find(found_.spikes.begin(), found_.spikes.end(), run) !=
               found_.spikes.end();
    }

    HistoryChange change_to(std::size_t i) const {
        const RunLevel& before = found_.levels[i - 1];
        const RunLevel& after = found_.levels[i];
        HistoryChange change;
        change.run = after.begin;
        change.before_ns = scale_.ns(before.value);
        change.after_ns = scale_.ns(after.value);
        change.p = after.p;
        if (change.before_ns > 0) {
            change.relative = change.after_ns / change.before_ns - 1;
            const VarianceTerm error = add_terms(std::array{before.error, after.error});
            const double half = half_width(error, options_.confidence);
            const auto relative = [&](double part) {
                return scale_.ns(part) / change.before_ns - 1;
            };
            change.low = relative(after.value - half);
            change.high = relative(after.value + half);
        }
        change.stages = stage_shifts(before, after);
        change.changed = changed_settings(before, after);
        return change;
    }

    // Means of both levels without spikes, in the order in which stages are met.
    std::vector<StageShift> stage_shifts(const RunLevel& before,
                                         const RunLevel& after) const {
        std::vector<StageShift> shifts;
        add_stages(before, &StageShift::before_ns, shifts);
        add_stages(after, &StageShift::after_ns, shifts);
        return shifts;
    }

    void add_stages(const RunLevel& level, double StageShift::* side,
                    std::vector<StageShift>& shifts) const {
        double count = 0;
        for (std::size_t i = level.begin; i < level.end; ++i) {
            count += is_spike(i) ? 0 : 1;
        }
        for (std::size_t i = level.begin; i < level.end; ++i) {
            if (is_spike(i)) {
                continue;
            }
            for (const StageTime& time : series_.runs[i]->stages) {
                auto shift = std::find_if(
                    shifts.begin(), shifts.end(),
                    [&](const StageShift& one) { return one.path == time.path; });
                if (shift == shifts.end()) {
                    shift = shifts.insert(shifts.end(), StageShift{time.path});
                }
                (*shift).*side += time.ns / count;
            }
        }
    }

    // Settings that differ between the runs around it, and not often within levels.
    std::vector<ChangedFact> changed_settings(const RunLevel& before,
                                              const RunLevel& after) const {
        constexpr std::size_t kOften = 4;  // one in so many pairs of neighbours
        std::vector<ChangedFact> changed;
        for (const std::string& key : setting_keys(series_.runs)) {
            const auto value = [&](std::size_t run) {
                return value_of(*series_.runs[run], key);
            };
            if (value(after.begin - 1) == value(after.begin)) {
                continue;
            }
            std::size_t others = 0;
            for (std::size_t i = before.begin + 1; i < after.end; ++i) {
                others += i != after.begin && value(i) != value(i - 1) ? 1U : 0U;
            }
            const std::size_t pairs = after.end - before.begin - 2;
            if (key == "git.commit" || others * kOften <= pairs) {
                changed.push_back(
                    {key, value(after.begin - 1), value(after.begin), {}});
            }
        }
        return changed;
    }

    void judge_newest_run() {
        std::vector<double> within;
        for (const RunDigest* run : series_.runs) {
            within.push_back(run->within * run->within);
        }
        series_.newest =
            judge_newest(parts_, found_, mean_of(within), least_, options_.prediction);
        if (series_.newest.low) {
            series_.newest.low = std::max(scale_.ns(*series_.newest.low), 0.0);
            series_.newest.high = scale_.ns(*series_.newest.high);
        }
    }

    void find_drift() {
        constexpr double kAlpha = 0.01;
        const RunLevel& level = found_.levels.back();
        const std::vector<double> values = values_of(level, parts_, found_.spikes);
        const auto trend = find_trend(values);
        if (trend && trend->p < kAlpha &&
            std::abs(trend->per_run) * static_cast<double>(values.size()) >= least_) {
            series_.drift = scale_.ns(level.value + trend->per_run) /
                                std::max(scale_.ns(level.value), 1e-9) -
                            1;
        }
    }

    void find_orders() {
        for (const std::string& key : setting_keys(series_.runs)) {
            std::vector<std::string> values;
            for (const RunDigest* run : series_.runs) {
                values.push_back(value_of(*run, key));
            }
            for (OrderEffect& effect : find_order_effects(parts_, values, least_)) {
                series_.order_effects.push_back({key, std::move(effect)});
            }
        }
    }

    void decide() {
        const NewestRun& newest = series_.newest;
        if (newest.again) {
            series_.verdict = newest.verdict == NewestVerdict::slower
                                  ? HistoryVerdict::regressed
                                  : HistoryVerdict::improved;
        } else if (series_.has_recent_change()) {
            const HistoryChange& change = series_.changes.back();
            series_.verdict = change.after_ns > change.before_ns
                                  ? HistoryVerdict::regressed
                                  : HistoryVerdict::improved;
        } else if (newest.verdict == NewestVerdict::normal) {
            series_.verdict = HistoryVerdict::same;
        }
    }

    HistorySeries& series_;
    const HistoryOptions& options_;
    Scale scale_;
    std::vector<double> parts_;
    double least_;
    RunLevels found_;
};

std::vector<const RunDigest*> in_order(std::span<const RunDigest> runs) {
    std::vector<const RunDigest*> ordered;
    std::set<std::string> known;
    for (const RunDigest& run : runs) {
        if (known.insert(run.uuid).second) {
            ordered.push_back(&run);
        }
    }
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const RunDigest* a, const RunDigest* b) {
                         return std::tie(a->started_unix_ns, a->uuid) <
                                std::tie(b->started_unix_ns, b->uuid);
                     });
    return ordered;
}

}  // namespace

std::string_view to_string(HistoryVerdict verdict) {
    switch (verdict) {
        case HistoryVerdict::regressed:
            return "regressed";
        case HistoryVerdict::improved:
            return "improved";
        case HistoryVerdict::same:
            return "same";
        case HistoryVerdict::inconclusive:
            break;
    }
    return "inconclusive";
}

History make_history(std::span<const RunDigest> runs, const HistoryOptions& options) {
    History history;
    history.options = options;
    history.options.metric = find_metric_name(runs, options.metric);
    const std::vector<const RunDigest*> ordered = in_order(runs);
    if (!options.by.empty() && !setting_keys(ordered).contains(options.by)) {
        throw Error("--by " + options.by + ": no such setting in these runs",
                    ErrorCode::usage);
    }
    std::map<std::map<std::string, std::string>, HistorySeries> series_of;
    for (const RunDigest* run : ordered) {
        auto workload = run->workload;
        if (!options.by.empty()) {
            workload[options.by] = value_of(*run, options.by);
        }
        HistorySeries& series = series_of[workload];
        series.workload = std::move(workload);
        series.runs.push_back(run);
        const auto value_ns = metric_ns(*run, history.options.metric);
        series.lacking += value_ns ? 0U : 1U;
        series.values_ns.push_back(value_ns.value_or(0));
    }
    for (auto& [workload, series] : series_of) {
        SeriesMaker(series, history.options).make();
        history.series.push_back(std::move(series));
    }
    std::stable_sort(history.series.begin(), history.series.end(),
                     [](const HistorySeries& a, const HistorySeries& b) {
                         return a.runs.back()->started_unix_ns >
                                b.runs.back()->started_unix_ns;
                     });
    const std::int64_t newest_ns = ordered.back()->started_unix_ns;
    for (HistorySeries& series : history.series) {
        series.current = newest_ns - series.runs.back()->started_unix_ns <= kCurrentNs;
    }
    return history;
}

const HistorySeries& History::deciding() const {
    const auto regressed =
        std::find_if(series.begin(), series.end(), [](const HistorySeries& one) {
            return one.current && one.verdict == HistoryVerdict::regressed;
        });
    return regressed == series.end() ? series.front() : *regressed;
}

}  // namespace metatrain_timing::analyzer
