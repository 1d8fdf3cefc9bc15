#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/core/src/thread_state.hpp"

namespace metatrain_timing::detail {

class Totals;

/// Records of one thread that are ready to be written: positions [from, to) of its
/// ring.
struct Harvest {
    ThreadState* state = nullptr;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t track_number = 0;  // 1, 2, … for each thread of the life
    std::uint32_t name_version = 0;
    bool finished = false;  // the thread is gone: nothing will follow
};

/// A thread as the table `track` shows it.
struct TrackInfo {
    std::int64_t tid = 0;
    std::string name;
};

/// The threads that record, and the states of threads that are gone.
///
/// All functions lock for a short time and do no I/O.
class ThreadRegistry {
  public:
    /// Gives the calling thread a state for `life`, its own `old` one if it has one.
    /// nullptr without memory.
    ThreadState* enter(ThreadState* old, std::uint64_t life);

    /// The thread of `state` ends.
    void leave(ThreadState* state) noexcept;

    /// Looks at what all threads of `life` have recorded and adds what is new to
    /// `totals`.
    std::vector<Harvest> harvest(std::uint64_t life, Totals& totals);

    /// The drain has written a harvest: its cells are free, and with a finished thread
    /// all of its state.
    void release(const std::vector<Harvest>& harvests) noexcept;

    TrackInfo track(const ThreadState& state) const;
    void rename(ThreadState& state, std::string_view name);

    /// Records lost by all threads of the life.
    std::int64_t dropped_count() const noexcept;
    /// Counts a record lost by a thread that has no state.
    void drop() noexcept { lost_count_.fetch_add(1, std::memory_order_relaxed); }

    /// Ends a life: its threads keep their states, and enter again in the next one.
    void end_life() noexcept;

    /// In a forked child: the parent's states are left alone.
    void forget_all();

    std::mutex& mutex() noexcept { return mutex_; }

  private:
    mutable std::mutex mutex_;
    std::vector<ThreadState*> active_;
    std::vector<ThreadState*> idle_;
    std::vector<ThreadState*> forgotten_;  // a parent's; keeps leak checkers quiet
    std::uint64_t track_count_ = 0;
    std::atomic<std::int64_t> lost_count_{0};
};

}  // namespace metatrain_timing::detail
