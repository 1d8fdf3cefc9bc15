#include "analyzer/analysis/predictions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "analyzer/replay/fit.hpp"
#include "analyzer/replay/loader_replay.hpp"

namespace metatrain_timing::analyzer {
namespace {

// What a prediction is uncertain by; docs/whatif.md shows how often intervals held.
constexpr double kModelError = 0.03;  // of the step
// Of what is due to contention for CPUs, or was in the record and is not any more. A
// body that several threads share is held up by the slowest of them, and by more than
// their count tells.
constexpr double kContentionError = 0.25;
constexpr double kSharedBodyError = 1;
constexpr std::size_t kBlocks = 10;
// To fork a process that has torch in memory, and to begin there.
constexpr double kUsualStartNs = 50e6;
constexpr double kNormal95 = 1.96;

struct Means {
    double turn_ns = 0;
    double wait_ns = 0;
    double turn_error_ns = 0;  // standard error, by blocks
    double pass_start_ns = 0;
};

double standard_error(const std::vector<double>& turns) {
    const std::size_t length = turns.size() / kBlocks;
    if (length == 0) {
        return 0;
    }
    std::vector<double> means(kBlocks, 0);
    for (std::size_t i = 0; i < length * kBlocks; ++i) {
        means[i / length] += turns[i] / static_cast<double>(length);
    }
    double mean = 0;
    for (const double one : means) {
        mean += one / kBlocks;
    }
    double squares = 0;
    for (const double one : means) {
        squares += (one - mean) * (one - mean);
    }
    return std::sqrt(squares / (kBlocks * (kBlocks - 1)));
}

Means measure(const Workload& work, const Replay& replay) {
    Means means;
    for (const ReplayedPass& pass : replay.passes) {
        means.pass_start_ns += pass.make_ns;
        if (!pass.turns.empty()) {
            means.pass_start_ns += pass.turns.front().wait_ns;
        }
    }
    std::vector<double> turns;
    for (const ReplayedTurn& turn : steady_turns(work, replay)) {
        turns.push_back(turn.turn_ns());
        means.turn_ns += turn.turn_ns();
        means.wait_ns += turn.wait_ns;
    }
    const auto count = static_cast<double>(std::max<std::size_t>(turns.size(), 1));
    means.turn_ns /= count;
    means.wait_ns /= count;
    means.turn_error_ns = standard_error(turns);
    means.pass_start_ns /=
        static_cast<double>(std::max<std::size_t>(replay.passes.size(), 1));
    return means;
}

Work scaled(const Work& work, double wall, double cpu) {
    return {work.wall_ns * wall, work.cpu_ns * cpu};
}

Workload apply(const Workload& work, const StageScale& scale) {
    Workload result = work;
    result.sampler = scaled(work.sampler, scale.put, scale.put);
    for (PassWork& pass : result.passes) {
        for (BatchWork& batch : pass.batches) {
            batch.put = scaled(batch.put, scale.put, scale.put);
            batch.fetch = scaled(batch.fetch, scale.fetch, scale.fetch_cpu);
            batch.send = scaled(batch.send, scale.send, scale.send);
            batch.receive = scaled(batch.receive, scale.receive, scale.receive);
            batch.pin = scaled(batch.pin, scale.pin, scale.pin);
            batch.body = scaled(batch.body, scale.body, scale.body_cpu);
        }
    }
    return result;
}

}  // namespace

Predictor::Predictor(RecordedWorkload recorded, double turns_per_step)
    : recorded_(std::move(recorded)),
      turns_per_step_(turns_per_step),
      fitted_(
          fit(recorded_.work,
              {recorded_.wait_ns + recorded_.body_ns, recorded_.fetch_ns,
               recorded_.body_ns, recorded_.fetch_queued_ns, recorded_.body_queued_ns},
              recorded_.settings, recorded_.cpus)) {
    const Prediction now = predict(recorded_.settings);
    own_error_ns_ = std::abs(now.step_ns - recorded_step_ns());
    contention_ns_ = now.step_ns - alone_ns(fitted_.work, recorded_.settings);
}

double Predictor::alone_ns(const Workload& work, const LoaderSettings& settings) const {
    return step_ns_on({std::numeric_limits<double>::max(), 0}, work, settings);
}

double Predictor::step_ns_on(const Cpus& cpus, const Workload& work,
                             const LoaderSettings& settings) const {
    return turns_per_step_ * measure(work, replay(work, settings, cpus)).turn_ns;
}

double Predictor::predict_step_ns(const LoaderSettings& settings,
                                  const StageScale& scale) const {
    return step_ns_on(fitted_.cpus, apply(fitted_.work, scale), settings);
}

double Predictor::recorded_step_ns() const {
    return turns_per_step_ * (recorded_.wait_ns + recorded_.body_ns);
}

Prediction Predictor::predict(const LoaderSettings& settings,
                              const StageScale& scale) const {
    const Workload work = apply(fitted_.work, scale);
    const Means means = measure(work, replay(work, settings, fitted_.cpus));
    Prediction prediction;
    prediction.settings = settings;
    prediction.step_ns = turns_per_step_ * means.turn_ns;
    prediction.wait_ns = turns_per_step_ * means.wait_ns;
    const double contention_ns = prediction.step_ns - alone_ns(work, settings);
    const double uncertain_ns =
        std::max(contention_ns,
                 std::abs(contention_ns_.value_or(contention_ns) - contention_ns));
    const double contention_error =
        is_shared({1, recorded_.body_cpus}) ? kSharedBodyError : kContentionError;
    const double half_ns =
        std::hypot(kNormal95 * turns_per_step_ * means.turn_error_ns,
                   kModelError * prediction.step_ns,
                   std::hypot(contention_error * uncertain_ns, own_error_ns_));
    prediction.low_ns = std::max(0.0, prediction.step_ns - half_ns);
    prediction.high_ns = prediction.step_ns + half_ns;
    if (settings.num_workers == 0 || recorded_.knows_worker_start) {
        prediction.pass_start_ns = means.pass_start_ns;
    }
    const double unknown_start_ns =
        prediction.pass_start_ns
            ? 0
            : kUsualStartNs * static_cast<double>(settings.num_workers);
    prediction.likely_start_ns = means.pass_start_ns + unknown_start_ns;
    prediction.steps_per_pass = static_cast<double>(recorded_.turns) /
                                static_cast<double>(recorded_.work.passes.size()) /
                                turns_per_step_;
    return prediction;
}

}  // namespace metatrain_timing::analyzer
