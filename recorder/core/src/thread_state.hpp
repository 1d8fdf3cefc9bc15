#pragma once

#include <algorithm>
#include <cstdint>

#include "recorder/core/src/harvest.hpp"
#include "recorder/core/src/open_stack.hpp"
#include "recorder/core/src/record.hpp"
#include "recorder/core/src/ring.hpp"
#include "recorder/core/src/tick_clock.hpp"

namespace metatrain_timing::detail {

class RingStore;

/// What a thread records into, in this process's own memory. Never freed while the
/// process lives: a thread that ends leaves it to the drain, then to the next thread.
struct ThreadState {
    ThreadState(RingStore& owner, ThreadArea& memory) noexcept
        : store(owner), area(memory), ring(memory), open(memory.open) {}

    /// The time of a record to come: never before that of the one before it, whatever
    /// the clock does. The owner alone asks.
    std::int64_t now_ns() noexcept { return not_before_last(tick_clock.now_ns()); }
    std::int64_t not_before_last(std::int64_t ns) noexcept {
        last_ns = std::max(last_ns, ns);
        return last_ns;
    }

    /// Notes a record that did not fit into the ring and adds it to the sums. `cpu_ns`
    /// -1: not measured. The owner alone calls it.
    void drop(const Record& record, std::int64_t cpu_ns) noexcept;
    /// Notes one that was not even a record.
    void drop_unsummed() noexcept;

    const RingStore& store;
    ThreadArea& area;

    // The owner's:
    std::uint64_t epoch = 0;  // the epoch in which the thread last looked after things
    std::int64_t last_ns = 0;
    PackedContext context;
    Ring ring;
    OpenStack& open;

    // Guarded by the registry's mutex:
    std::uint64_t life = 0;          // whose drain takes the records
    std::uint64_t counted_to = 0;    // position up to which the totals know the records
    std::int64_t written_drops = 0;  // dropped_count when the sums were last written
    DroppedSums counted_drops;       // which the totals know
    std::uint32_t name_version = 0;
    bool finished = false;
    TrackInfo track;
};

/// The calling thread's own variables. `serial` goes on over lives and forks, so that a
/// handle of an older interval never fits a newer one.
struct ThreadLocal {
    ThreadState* state = nullptr;
    std::uint32_t serial = 0;  // of the last interval begun; 0: none yet
};

// Inside a Python module the default model would cost a call for each access.
#if defined(__GNUC__) && defined(__ELF__)
#define MT_TLS_MODEL __attribute__((tls_model("initial-exec")))
#else
#define MT_TLS_MODEL
#endif
extern thread_local constinit ThreadLocal thread_local_state MT_TLS_MODEL;

}  // namespace metatrain_timing::detail
