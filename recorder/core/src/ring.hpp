#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/core/src/record.hpp"
#include "recorder/core/src/ring_layout.hpp"

namespace metatrain_timing::detail {

/// The way into the records of a thread's area.
///
/// Positions only grow; the cell of a position is position % capacity. The producer
/// owns `head`, the consumer `tail`; each publishes its own with release and reads the
/// other's with acquire, so that cells themselves need not be atomic.
class Ring {
  public:
    static constexpr std::size_t kCapacity = ThreadArea::kCapacity;

    /// On an area that outlives the ring, with whatever is in it.
    explicit Ring(ThreadArea& area) noexcept
        : area_(area),
          head_cache_(area.head.load(std::memory_order_relaxed)),
          tail_cache_(area.tail.load(std::memory_order_relaxed)) {}
    ~Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Producer: whether `count` more records fit. Reads the consumer's position only
    /// when the ring looks half full, which keeps its cache line out of the hot path.
    bool has_room(std::size_t count) noexcept {
        if (head_cache_ + count - tail_cache_ > kCapacity / 2) {
            tail_cache_ = area_.tail.load(std::memory_order_acquire);
        }
        return head_cache_ + count - tail_cache_ <= kCapacity;
    }

    /// Producer: whether one more record fits without another look at the consumer, and
    /// leaves the ring less than half full.
    bool has_much_room() const noexcept {
        return head_cache_ + 1 - tail_cache_ < kCapacity / 2;
    }

    /// Producer: whether it is time to call the drain. As fresh as the last
    /// `has_room()`.
    bool half_full() const noexcept {
        return head_cache_ - tail_cache_ >= kCapacity / 2;
    }

    /// Producer: the cell `offset` behind the head, to be filled before `publish()`.
    Record& cell(std::size_t offset = 0) noexcept {
        return area_.cells[(head_cache_ + offset) % kCapacity];
    }

    /// Producer: hands the next `count` cells over, after `has_room(count)`.
    void publish(std::size_t count = 1) noexcept {
        head_cache_ += count;
        area_.head.store(head_cache_, std::memory_order_release);
    }

    /// Consumer: records in [tail(), head()) are complete and stay until
    /// `release_to()`.
    std::uint64_t head() const noexcept {
        return area_.head.load(std::memory_order_acquire);
    }
    std::uint64_t tail() const noexcept {
        return area_.tail.load(std::memory_order_relaxed);
    }
    const Record& at(std::uint64_t position) const noexcept {
        return area_.cells[position % kCapacity];
    }
    void release_to(std::uint64_t position) noexcept {
        area_.tail.store(position, std::memory_order_release);
    }

  private:
    ThreadArea& area_;
    std::uint64_t head_cache_;  // the producer's own copy
    std::uint64_t tail_cache_;  // what the producer last saw of the consumer
};

}  // namespace metatrain_timing::detail
