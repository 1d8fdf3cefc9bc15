#pragma once

#include <cstddef>
#include <optional>

#include "analyzer/analysis/workload_of.hpp"
#include "analyzer/replay/fit.hpp"
#include "analyzer/replay/workload.hpp"

namespace metatrain_timing::analyzer {

/// What stages would take, as parts of what they take now.
struct StageScale {
    double put = 1;
    double fetch = 1;
    double fetch_cpu = 1;
    double send = 1;
    double receive = 1;
    double pin = 1;
    double body = 1;
    double body_cpu = 1;
};

/// What a training would take.
struct Prediction {
    LoaderSettings settings;
    double step_ns = 0;  // mean of steady steps
    /// Holds the mean of such a training at about 95 %, see docs/whatif.md.
    double low_ns = 0;
    double high_ns = 0;
    double wait_ns = 0;  // of step_ns
    /// Making the workers of a pass and waiting for its first batch, mean over passes;
    /// nothing where no start of a worker is on record.
    std::optional<double> pass_start_ns;
    double steps_per_pass = 0;
    /// The same as `pass_start_ns`; where that is not known, with what workers usually
    /// take to start.
    double likely_start_ns = 0;

    /// A step and its part of the start of its pass: what settings are ranked by.
    double whole_step_ns() const {
        return step_ns + (steps_per_pass > 0 ? likely_start_ns / steps_per_pass : 0);
    }
};

/// Predicts by replaying what was recorded. Pure; a prediction costs some milliseconds.
class Predictor {
  public:
    /// `turns_per_step`: more than 1 with gradient accumulation.
    Predictor(RecordedWorkload recorded, double turns_per_step);

    Prediction predict(const LoaderSettings& settings,
                       const StageScale& scale = {}) const;

    /// `step_ns` of the prediction alone, in half the time.
    double predict_step_ns(const LoaderSettings& settings,
                           const StageScale& scale) const;

    const RecordedWorkload& recorded() const { return recorded_; }
    /// Of the steps replayed, as recorded.
    double recorded_step_ns() const;
    double recorded_wait_ns() const { return turns_per_step_ * recorded_.wait_ns; }

  private:
    double step_ns_on(const Cpus& cpus, const Workload& work,
                      const LoaderSettings& settings) const;
    /// What a step would take if there were CPUs for everybody.
    double alone_ns(const Workload& work, const LoaderSettings& settings) const;

    RecordedWorkload recorded_;
    double turns_per_step_;
    FittedWorkload fitted_;
    std::optional<double> contention_ns_;  // of a step as it was recorded
    double own_error_ns_ = 0;  // of the replay with the settings of the record
};

}  // namespace metatrain_timing::analyzer
