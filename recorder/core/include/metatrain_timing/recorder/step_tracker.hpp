#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace metatrain_timing {

/// One count of training steps, though several parties announce them: optimizers, the
/// body of the loop, a profiler, the program itself. Each *requester* counts for
/// itself, and the step is the greatest of their counts, so that a step that three of
/// them announce is one. Semantics of torch.autograd.profiler.KinetoStepTracker (torch
/// 2.13), of which there is one in a process; of this one there may be any number.
///
/// Two optimizers that step in turns raise the step once per round. A requester that is
/// new begins with the current step, and one that is erased does not lower it.
///
/// Callable from any thread; a forked child goes on with a copy of its own.
/// `current_step()` is one relaxed load, the others take a lock and some 0.1 µs.
class StepTracker {
  public:
    /// Is called with each step as it is reached: 1, 2, 3, …, in order and one at a
    /// time, without a lock: it may use the tracker. By the thread that raised the
    /// step, or by one that is calling it for an earlier step already. What it throws
    /// comes out of `increment_step()`; the step is counted then.
    using StepHook = std::function<void(std::int64_t step)>;

    StepTracker() = default;
    explicit StepTracker(StepHook on_step) : on_step_(std::move(on_step)) {}
    ~StepTracker() = default;
    StepTracker(const StepTracker&) = delete;
    StepTracker& operator=(const StepTracker&) = delete;

    /// The one of this process, whose step its records carry: what reaches a step here
    /// is the context's step of the calling thread, unless that is in a pass over a
    /// loader, whose turns have the step they began in. Counts of a process that
    /// counted are in the run, as facts `steps.<requester>`, when recording ends.
    static StepTracker& of_process() noexcept;

    /// Lets `requester` begin, also anew, with the current step.
    void init_step_count(std::string_view requester);
    /// Forgets `requester`; false where it is unknown.
    bool erase_step_count(std::string_view requester);
    /// Counts a step of `requester`, which begins with the current step if it is new.
    /// Returns the current step.
    std::int64_t increment_step(std::string_view requester);

    std::int64_t current_step() const noexcept {
        return current_step_.load(std::memory_order_relaxed);
    }
    /// The count of each requester that is not erased.
    std::map<std::string, std::int64_t> step_counts() const;

    /// Whether this process, and not one that it was forked from, counted a step.
    bool has_counted() const;

  private:
    using Counts = std::map<std::string, std::int64_t, std::less<>>;

    Counts::iterator find_or_init(std::string_view requester);
    void call_hook(std::unique_lock<std::mutex>& lock);

    StepHook on_step_;
    Counts counts_;  // none is greater than the current step
    std::atomic<std::int64_t> current_step_{0};
    std::int64_t announced_step_ = 0;  // up to which the hook was called
    pid_t announcer_ = 0;              // process in which somebody calls it; 0: nobody
    pid_t counter_ = 0;                // process that counted last
};

}  // namespace metatrain_timing
