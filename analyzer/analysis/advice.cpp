#include "analyzer/analysis/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analyzer/analysis/report.hpp"
#include "analyzer/analysis/stage_scale.hpp"
#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/whatif.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kWorthSaying = 0.03;    // of a step: what predictions are sure to
constexpr double kLikeTheRecord = 0.25;  // how far the replay may be off the record
constexpr double kMs = 1e6;

// One thing changed at a time, and as many workers as there are CPUs for.
std::set<LoaderSettings> alternatives(const RecordedWorkload& recorded) {
    const LoaderSettings& now = recorded.settings;
    std::set<LoaderSettings> all;
    const auto add = [&](auto change) {
        LoaderSettings other = now;
        change(other);
        const bool fits = recorded.knows_cpus
                              ? static_cast<double>(other.num_workers) <= recorded.cpus
                              : other.num_workers <= now.num_workers;
        if (fits && other != now) {
            all.insert(other);
        }
    };
    for (const std::int64_t workers : {0, 1, 2, 3, 4, 6, 8, 12, 16}) {
        add([&](LoaderSettings& other) { other.num_workers = workers; });
    }
    if (now.num_workers > 0) {
        add([](LoaderSettings& other) { other.prefetch_factor *= 2; });
        add([](LoaderSettings& other) { other.persistent_workers = true; });
        add([](LoaderSettings& other) { other.in_order = false; });
    }
    return all;
}

void add_settings(Advice& advice, const Predictor& predictor) {
    for (const LoaderSettings& settings : alternatives(predictor.recorded())) {
        SettingAdvice one;
        one.prediction = predictor.predict(settings);
        one.saved_ns = advice.now.whole_step_ns() - one.prediction.whole_step_ns();
        if (one.saved_ns > kWorthSaying * advice.now.whole_step_ns()) {
            advice.settings.push_back(one);
        }
    }
    std::stable_sort(advice.settings.begin(), advice.settings.end(),
                     [](const SettingAdvice& a, const SettingAdvice& b) {
                         return a.saved_ns > b.saved_ns;
                     });
}

// Rows with nothing recorded inside, below `fetch` and `step` or of other threads.
void find_lowest(const std::vector<StageRow>& rows,
                 std::map<std::string, Where>& stages) {
    bool inside = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const StageRow& row = rows[i];
        if (row.level == 0) {
            inside =
                row.stage == "fetch" || row.stage == "step" || row.stage == "loader";
        }
        const bool has_parts = i + 1 < rows.size() && rows[i + 1].level > row.level &&
                               rows[i + 1].stage != kUnattributed;
        if (inside && row.level > 0 && !has_parts && row.stage != kUnattributed) {
            stages.emplace(row.stage, row.where);
        }
    }
}

void add_stages(Advice& advice, const Predictor& predictor, const Breakdown& time) {
    std::map<std::string, Where> stages;
    find_lowest(time.main, stages);
    find_lowest(time.worker, stages);
    for (const StageRow& row : time.worker_sender) {
        if (row.stage == "send") {
            stages.emplace(row.stage, row.where);
        }
    }
    for (const auto& [stage, where] : stages) {
        std::string ignored;
        if (const auto scale = find_stage_scale(time, {{stage, 0.5}}, ignored)) {
            const double step_ns =
                predictor.predict_step_ns(advice.now.settings, *scale);
            advice.stages.push_back(
                {stage, where, std::max(0.0, advice.now.step_ns - step_ns)});
        }
    }
    std::stable_sort(advice.stages.begin(), advice.stages.end(),
                     [](const StageSaving& a, const StageSaving& b) {
                         return a.saved_ns > b.saved_ns;
                     });
}

}  // namespace

Advice advise(const Findings& findings, const Report& report) {
    Advice advice;
    std::vector<Warning> warnings;
    const auto predictor = make_predictor(findings, report, warnings, advice.problem);
    if (!predictor) {
        return advice;
    }
    advice.now = predictor->predict(predictor->recorded().settings);
    advice.guesses_worker_start = !predictor->recorded().knows_worker_start;
    const double recorded_ns = predictor->recorded_step_ns();
    if (std::abs(advice.now.step_ns - recorded_ns) > kLikeTheRecord * recorded_ns) {
        advice.problem = fmt::format(
            "replayed as it was recorded, a step takes {:.3g} ms and not "
            "{:.3g} ms: something that matters is not on record",
            advice.now.step_ns / kMs, recorded_ns / kMs);
        return advice;
    }
    add_settings(advice, *predictor);
    add_stages(advice, *predictor, report.phases.front().time);
    return advice;
}

}  // namespace metatrain_timing::analyzer
