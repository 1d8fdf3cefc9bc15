#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/core/src/harvest.hpp"
#include "recorder/core/src/thread_state.hpp"

namespace metatrain_timing::detail {

class Totals;

/// The threads that record, and the states of threads that are gone.
///
/// All functions lock for a short time and do no I/O.
class ThreadRegistry {
  public:
    /// Where the threads of the life that begins get their memory.
    void use(RingStore& store) noexcept;

    /// Gives the calling thread a state for `life`, its own `old` one if that is of the
    /// same memory. nullptr without memory.
    ThreadState* enter(ThreadState* old, std::uint64_t life);

    /// The thread of `state` ends.
    void leave(ThreadState* state) noexcept;

    /// Looks at what all threads of `life` have recorded and adds what is new to
    /// `totals`.
    enum class Frames {
        none,
        some,      // with what is open
        complete,  // and only records of which every enclosing interval is known
    };
    std::vector<Harvest> harvest(std::uint64_t life, Totals& totals,
                                 Frames frames = Frames::none);

    /// The drain has written a harvest: its cells are free, and with a finished thread
    /// all of its state.
    void release(const std::vector<Harvest>& harvests) noexcept;

    void rename(ThreadState& state, std::string_view name);

    /// Records dropped by all threads of the life.
    DropCounts drop_counts() const noexcept;
    /// Counts a record of a thread that has no state.
    void drop() noexcept { stateless_drops_.fetch_add(1, std::memory_order_relaxed); }

    /// Ends a life: its states are not used again. Threads get new ones in the next.
    void end_life() noexcept;

    /// In a forked child: the parent's states are left alone.
    void forget_all();

    std::mutex& mutex() noexcept { return mutex_; }

  private:
    mutable std::mutex mutex_;
    RingStore* store_ = nullptr;
    std::vector<ThreadState*> active_;
    std::vector<ThreadState*> idle_;
    // Of older lives and of a parent; keeps leak checkers quiet.
    std::vector<ThreadState*> forgotten_;
    std::uint64_t track_count_ = 0;
    DropCounts gone_drops_;  // of threads that are gone
    std::atomic<std::int64_t> stateless_drops_{0};
};

}  // namespace metatrain_timing::detail
