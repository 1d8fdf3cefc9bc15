#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace metatrain_timing {

/// Which epochs and steps of a training are run to tell how long all of it takes: as
/// the `Benchmarker` of Composer (MosaicML, 2022) does.
struct BenchmarkPlan {
    std::int64_t min_steps = 50;  // of a window
    std::vector<std::int64_t> epoch_list = {0, 1};
    std::vector<std::int64_t> step_list = {0, 50};  // first steps of windows
    bool all_epochs = false;                        // instead of those of the list
    /// Steps at the begin of each pass over the loader that are run and not counted:
    /// the first batch waits for the workers to start.
    std::int64_t warmup_steps = 3;

    /// Sorted, each number once.
    /// @throws std::invalid_argument with one sentence: an empty list, one without 0
    ///     (epochs: unless all are run), a negative number, `min_steps` below 1.
    BenchmarkPlan checked() const;
};

/// What was measured of some steps of one epoch.
struct BenchmarkWindow {
    std::int64_t epoch = 0;
    std::int64_t first_step = 0;
    std::int64_t steps = 0;  // fewer than planned where the epoch ends before
    std::int64_t total_ns = 0;
    double samples = 0;  // of all ranks
    /// Standard error of the mean step, by means of up to ten blocks of steps, which
    /// need not be independent; nothing below 20 steps.
    std::optional<double> step_error_ns;

    double step_ns() const {
        return static_cast<double>(total_ns) / static_cast<double>(steps);
    }
    double samples_per_s() const;
};

/// How long a training takes as a whole, at 95 %.
struct BenchmarkPrediction {
    double total_ns = 0;
    double low_ns = 0;
    double high_ns = 0;
    // Of the total:
    double steps_ns = 0;
    double epoch_starts_ns = 0;  // making iterators and workers, first batches
    double epoch_ends_ns = 0;    // validation, checkpoints: all between two epochs
};

/// Runs windows of a training and tells from them what all of it takes. A loop asks
/// which epoch and which step comes next, and tells when they are over; times are
/// CLOCK_MONOTONIC.
///
/// Within a visited epoch each step takes what a step of the last window at or before
/// it takes; an epoch that is not visited counts like the last visited one before it.
/// Not thread-safe: it belongs to one loop.
class Benchmark {
  public:
    /// `plan` is checked. @throws std::invalid_argument
    Benchmark(const BenchmarkPlan& plan, std::int64_t epochs);

    /// The epoch to run; nothing: all windows are done, the training is over.
    std::optional<std::int64_t> begin_epoch(std::int64_t now_ns);

    /// A pass over the loader begins, of which the epoch has `steps` (nothing: not
    /// known).
    void begin_pass(std::int64_t now_ns, std::optional<std::int64_t> steps);
    /// The step of the epoch that is to be run now; nothing: the windows of this epoch
    /// are done.
    std::optional<std::int64_t> begin_step() const;
    /// The batch that was asked for is there.
    void batch_delivered(std::int64_t now_ns);
    /// The step was run, on `samples` of this rank. Says whether a window is complete
    /// with it.
    bool end_step(std::int64_t now_ns, double samples);
    /// The loader has no more batches though steps are left: the next pass goes on.
    void end_pass(std::int64_t now_ns);

    /// Replaces the samples of the last window by those of all ranks.
    void set_samples(double samples);

    const std::vector<BenchmarkWindow>& windows() const { return windows_; }
    /// Nothing before the first window is complete, and where the length of an epoch is
    /// not known.
    std::optional<BenchmarkPrediction> prediction() const;

  private:
    struct EpochTimes {
        std::int64_t epoch = 0;
        std::optional<std::int64_t> start_ns;  // until its first batch was there
        std::optional<std::int64_t> end_ns;    // from its last step to the next epoch
    };

    bool is_visited(std::int64_t epoch) const;
    std::int64_t steps_of_window() const;
    void finish_window();

    BenchmarkPlan plan_;
    std::int64_t epochs_;
    std::optional<std::int64_t> epoch_;  // that is being run
    std::optional<std::int64_t> steps_per_epoch_;
    std::size_t window_ = 0;        // position in the step list
    std::int64_t warmup_left_ = 0;  // steps of this pass
    std::int64_t pass_began_ns_ = 0;
    bool awaits_first_batch_ = false;
    std::int64_t last_ns_ = 0;                 // end of the last step
    std::vector<std::int64_t> step_times_ns_;  // of the window that is being run
    double samples_ = 0;
    std::vector<BenchmarkWindow> windows_;
    std::vector<EpochTimes> epoch_times_;
};

}  // namespace metatrain_timing
