#include "analyzer/analysis/learned_noise.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/analysis/measured_run.hpp"
#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
std::map<std::string, std::string> workload_of_run(const ComparedRun& run) {
    std::map<std::string, std::string> workload{{"phase", run.phase().phase}};
    for (const RunFact& fact : run.facts) {
        if (fact.kind != FactKind::setting) {
            workload[fact.key] = fact.value;
        }
    }
    return workload;
}

NoiseLesson learn_noise(std::span<const ComparedRun> runs) {
    NoiseLesson lesson;
    lesson.noise.workload = workload_of_run(runs.front());
    lesson.noise.runs = static_cast<std::int64_t>(runs.size());
    const StepNumbers shared = common_steps({runs});
    const StepNumbers numbers = shared.empty() ? StepNumbers{} : shared;
    std::vector<double> logs;
    std::vector<double> within;
    for (const ComparedRun& run : runs) {
        const MeasuredRun measured = measure_step(run, numbers, "");
        logs.push_back(std::log(std::max(measured.step.mean, 1e-3)));
        within.push_back(measured.step.error.variance);
        lesson.runs.push_back({measured.step.mean, std::sqrt(within.back())});
        for (const ChangedFact& fact : changed_facts(runs.front().facts, run.facts)) {
            const bool known = std::any_of(
                lesson.changed.begin(), lesson.changed.end(),
                [&](const ChangedFact& other) { return other.key == fact.key; });
            if (!known) {
                lesson.changed.push_back(fact);
            }
        }
    }
    const double all = sample_variance(logs);
    lesson.noise.relative = std::sqrt(std::max(all - mean_of(within), all / 2));
    return lesson;
}

}  // namespace metatrain_timing::analyzer
