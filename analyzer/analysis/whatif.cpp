#include "analyzer/analysis/whatif.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/analysis/batch_index.hpp"
#include "analyzer/analysis/body_cpus.hpp"
#include "analyzer/analysis/report.hpp"
#include "analyzer/analysis/stage_scale.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kMostTurns = 2000;
constexpr double kNoWorse = 0.03;  // as far as predictions can tell

template <typename Value>
std::vector<Value> asked_or(const std::vector<Value>& asked, Value recorded) {
    return asked.empty() ? std::vector<Value>{recorded} : asked;
}

struct SimplerFirst {
    static auto key(const LoaderSettings& one) {
        return std::tuple(one.num_workers, one.prefetch_factor, !one.in_order,
                          one.persistent_workers, one.pin_memory);
    }
    bool operator()(const LoaderSettings& a, const LoaderSettings& b) const {
        return key(a) < key(b);
    }
};

// Without workers the other settings say nothing, so that one of them is enough.
std::set<LoaderSettings, SimplerFirst> combine(const WhatIfQuestion& question,
                                               const LoaderSettings& recorded) {
    std::set<LoaderSettings, SimplerFirst> all;
    for (const std::int64_t workers :
         asked_or(question.num_workers, recorded.num_workers)) {
        for (const std::int64_t prefetch :
             asked_or(question.prefetch_factor, recorded.prefetch_factor)) {
            for (const bool in_order : asked_or(question.in_order, recorded.in_order)) {
                for (const bool persistent : asked_or(question.persistent_workers,
                                                      recorded.persistent_workers)) {
                    for (const bool pin :
                         asked_or(question.pin_memory, recorded.pin_memory)) {
                        all.insert(workers == 0
                                       ? LoaderSettings{0, recorded.prefetch_factor,
                                                        true, false, pin}
                                       : LoaderSettings{workers, prefetch, in_order,
                                                        persistent, pin});
                    }
                }
            }
        }
    }
    return all;
}

// Of those that predictions cannot tell from the least: the one recorded, else the
// simplest, which comes first in `predictions`.
std::optional<std::size_t> find_best(const std::vector<Prediction>& predictions,
                                     const LoaderSettings& recorded, double cpus) {
    const auto fits = [&](const Prediction& one) {
        return static_cast<double>(one.settings.num_workers) <= cpus;
    };
    double least_ns = std::numeric_limits<double>::infinity();
    for (const Prediction& one : predictions) {
        least_ns = fits(one) ? std::min(least_ns, one.whole_step_ns()) : least_ns;
    }
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        const Prediction& one = predictions[i];
        const bool is_good =
            fits(one) && one.whole_step_ns() <= (1 + kNoWorse) * least_ns;
        if (is_good && (!best || one.settings == recorded)) {
            best = i;
        }
    }
    return best;
}

}  // namespace

std::optional<Predictor> make_predictor(const Findings& findings, const Report& report,
                                        std::vector<Warning>& warnings,
                                        std::string& problem) {
    if (report.phases.empty()) {
        problem = "there is no loop over a DataLoader";
        return std::nullopt;
    }
    const PhaseReport& phase = report.phases.front();
    const std::optional<double> body_cpus = measure_body_cpus(phase.cpus, phase.time);
    if (!body_cpus) {
        warnings.push_back({"cpu_unknown",
                            "how many CPUs the training process used is not on record; "
                            "one is assumed"});
    }
    auto workload = find_workload(findings, phase.group, body_cpus.value_or(1),
                                  kMostTurns, problem);
    if (!workload) {
        return std::nullopt;
    }
    if (!workload->knows_cpus) {
        warnings.push_back({"granted_cpus_unknown",
                            "how many CPUs were granted is not on record; one for each "
                            "process is assumed"});
    }
    // Of steady steps: turns that are left over in the end of a pass make no step.
    const double turns_per_step =
        phase.steps.accumulates && phase.steps.turn && phase.steps.turn->mean_ns > 0
            ? phase.steps.step->mean_ns / phase.steps.turn->mean_ns
            : 1;
    return Predictor(std::move(*workload), turns_per_step);
}

std::optional<WhatIf> ask_what_if(const Findings& findings,
                                  const WhatIfQuestion& question,
                                  std::string& problem) {
    Report report = make_report(findings);
    choose_phase(report, question.phase);
    WhatIf answer;
    const auto predictor = make_predictor(findings, report, answer.warnings, problem);
    if (!predictor) {
        return std::nullopt;
    }
    const PhaseReport& phase = report.phases.front();
    const auto scale = find_stage_scale(phase.time, question.scale, problem);
    if (!scale) {
        return std::nullopt;
    }
    const RecordedWorkload& recorded = predictor->recorded();
    answer.phase = phase.name;
    answer.loader = phase.loader;
    answer.recorded = recorded.settings;
    answer.recorded_step_ns = predictor->recorded_step_ns();
    answer.recorded_wait_ns = predictor->recorded_wait_ns();
    answer.cpus = recorded.cpus;
    answer.turns = recorded.turns;
    answer.scale = question.scale;
    for (const LoaderSettings& settings : combine(question, recorded.settings)) {
        answer.predictions.push_back(predictor->predict(settings, *scale));
    }
    answer.best = find_best(answer.predictions, recorded.settings, recorded.cpus);
    if (!recorded.knows_transport && recorded.settings.num_workers == 0) {
        answer.warnings.push_back(
            {"transport_unknown",
             "recorded without workers: what sending batches and starting workers "
             "would take is not known, and left out"});
    }
    return answer;
}

}  // namespace metatrain_timing::analyzer
