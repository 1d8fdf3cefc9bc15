#include "analyzer/analysis/run_digest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "analyzer/analysis/learned_noise.hpp"
#include "analyzer/analysis/measured_run.hpp"
#include "analyzer/stats/quantiles.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::vector<StageTime> times_per(const std::vector<PathSum>& parts, double count) {
    std::vector<StageTime> times;
    for (const PathSum& part : parts) {
        times.push_back({part.path, part.total_ns() / std::max(count, 1.0)});
    }
    return times;
}

bool has_ended(const Run& run) {
    return std::all_of(
        run.processes.begin(), run.processes.end(),
        [](const Process& process) { return process.ending == "clean"; });
}

}  // namespace

RunDigest digest_run(const ComparedRun& run) {
    const MeasuredRun measured = measure_step(run, {}, "");
    RunDigest digest;
    digest.path = run.path;
    digest.uuid = run.run->uuid;
    digest.started_unix_ns = run.run->started_unix_ns;
    digest.workload = workload_of_run(run);
    for (const RunFact& fact : run.facts) {
        if (fact.kind == FactKind::setting) {
            digest.settings[fact.key] = fact.value;
        }
    }
    digest.steps = static_cast<std::int64_t>(measured.range.steps.size());
    digest.step_ns = measured.step.mean;
    digest.within = std::sqrt(measured.step.error.variance);
    std::vector<std::int64_t> lengths;
    for (const CriticalStep& step : measured.range.steps) {
        lengths.push_back(step.dur_ns);
    }
    if (const auto summary = summarize(lengths)) {
        digest.mean_ns = summary->mean_ns;
        digest.median_ns = summary->median_ns;
        digest.p95_ns = summary->p95_ns;
        digest.p99_ns = summary->p99_ns;
    }
    digest.stages = times_per(find_step_parts(*run.findings, run.steps, measured.range),
                              measured.steps());
    digest.fetches =
        times_per(run.fetches.parts, static_cast<double>(run.fetches.count()));
    digest.shifted = !measured.shifts.empty();
    digest.ended = has_ended(*run.run);
    digest.warnings = run.run->warnings;
    return digest;
}

}  // namespace metatrain_timing::analyzer
