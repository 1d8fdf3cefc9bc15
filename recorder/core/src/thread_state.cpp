#include "recorder/core/src/thread_state.hpp"

namespace metatrain_timing::detail {
namespace {

// Release: whoever sees the count sees the sums that it stands for.
void add_one(std::atomic<std::int64_t>& count) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace

[[gnu::cold]] void ThreadState::drop(const Record& record,
                                     std::int64_t cpu_ns) noexcept {
    const bool is_summed = record.label.kind == RecordKind::counter
                               ? area.drops.add_counter(record)
                               : area.drops.add_interval(record, cpu_ns, open);
    if (!is_summed) {
        add_one(area.unsummed_count);
    }
    add_one(area.dropped_count);
}

[[gnu::cold]] void ThreadState::drop_unsummed() noexcept {
    add_one(area.unsummed_count);
    add_one(area.dropped_count);
}

}  // namespace metatrain_timing::detail
