#pragma once

#include <cstdint>
#include <metatrain_timing/recorder/epoch.hpp>
#include <string_view>

namespace metatrain_timing {

/// Number of an interned stage name in this process; 0 means "none".
///
/// Numbers are process-local and survive a fork: a child keeps its parent's.
enum class StageId : std::uint16_t { none = 0 };

/// Number of an interned counter name in this process; 0 means "none".
enum class CounterId : std::uint16_t { none = 0 };

/// What the calling thread is working on; goes into each record it makes.
///
/// A field that is -1 is unknown and becomes NULL. `iterator` is the number that
/// `define_iterator()` gave in the process that owns the pass.
struct Context {
    std::int64_t iterator = -1;
    std::int64_t batch = -1;
    std::int64_t step = -1;
};

/// Handle of an open interval of the calling thread; `none` where recording is off.
///
/// Ending a handle twice, or after an enclosing interval ended, does nothing.
struct OpenInterval {
    std::uint32_t depth = 0;
    std::uint32_t serial = 0;  // 0: none
};

/// Interns `name` (UTF-8, at most 255 bytes are kept) and returns its number.
///
/// Returns `none` when 65,535 names exist already; intervals of `none` are counted as
/// dropped. Takes a lock: call it once per call site and keep the number.
/// Callable from any thread.
StageId stage(std::string_view name) noexcept;
CounterId counter(std::string_view name) noexcept;

/// Opens an interval on the calling thread. Cost: one clock read, no lock, no system
/// call; the first call of a thread allocates its ring (300 kB) under a lock. Off: one
/// load and a branch.
OpenInterval begin(StageId stage) noexcept;

/// Like `begin`, but measures the thread's CPU time too (about 0.5 µs more at each
/// end).
OpenInterval begin_with_cpu(StageId stage) noexcept;

/// Closes `open` and every interval opened after it that is still open, all at this
/// instant. Cost: one clock read and one 32-byte record for each.
void end(OpenInterval open) noexcept;

/// Closes `open` without recording it; intervals opened after it are recorded.
void cancel(OpenInterval open) noexcept;

/// Records an interval that is over, as a child of those open now.
///
/// `start_ns` and `end_ns` are CLOCK_MONOTONIC; `where` replaces the thread's context.
void add(StageId stage, std::int64_t start_ns, std::int64_t end_ns,
         Context where) noexcept;

/// Adds `value` to a counter at this instant.
void count(CounterId counter, double value) noexcept;

/// Replaces the calling thread's context; it is kept until replaced. An open interval
/// keeps the context it began with.
void set_context(Context context) noexcept;
Context context() noexcept;

/// Says that a turn of the calling thread's loop is over: a good moment to drain, so
/// that finished steps are safe soon. Wakes the drain thread at most every 100 ms.
void turn_ended() noexcept;

/// Records the enclosing block as an interval of one stage. Off: one load and a branch,
/// no call.
///
///     static const auto forward = metatrain_timing::stage("forward");
///     const metatrain_timing::Interval interval(forward);
class Interval {
  public:
    explicit Interval(StageId stage) noexcept {
        if (detail::epoch.load(std::memory_order_relaxed) != 0) {
            open_ = begin(stage);
        }
    }
    ~Interval() {
        if (open_.serial != 0) {
            end(open_);
        }
    }
    Interval(const Interval&) = delete;
    Interval& operator=(const Interval&) = delete;

  private:
    OpenInterval open_;
};

}  // namespace metatrain_timing
