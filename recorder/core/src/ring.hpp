#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/core/src/buffer_memory.hpp"
#include "recorder/core/src/record.hpp"

namespace metatrain_timing::detail {

/// Records between one thread that makes them and the drain that takes them away.
///
/// Positions only grow; the cell of a position is position % capacity. The producer
/// owns `head`, the consumer `tail`; each publishes its own with release and reads the
/// other's with acquire, so that cells themselves need not be atomic.
class Ring {
  public:
    static constexpr std::size_t kCapacity = 8192;  // 256 KiB
    static constexpr std::size_t kSizeBytes = kCapacity * sizeof(Record);

    /// Memory of `memory`, which must outlive the ring; without any, everything drops.
    explicit Ring(BufferMemory& memory) noexcept
        : memory_(memory), cells_(static_cast<Record*>(memory.allocate(kSizeBytes))) {}
    ~Ring() {
        if (cells_ != nullptr) {
            memory_.release(cells_, kSizeBytes);
        }
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    bool has_memory() const noexcept { return cells_ != nullptr; }

    /// Producer: whether `count` more records fit. Reads the consumer's position only
    /// when the ring looks half full, which keeps its cache line out of the hot path.
    bool has_room(std::size_t count) noexcept {
        if (head_cache_ + count - tail_cache_ > kCapacity / 2) {
            tail_cache_ = tail_.load(std::memory_order_acquire);
        }
        return head_cache_ + count - tail_cache_ <= kCapacity;
    }

    /// Producer: whether it is time to call the drain. As fresh as the last
    /// `has_room()`.
    bool half_full() const noexcept {
        return head_cache_ - tail_cache_ >= kCapacity / 2;
    }

    /// Producer: the cell `offset` behind the head, to be filled before `publish()`.
    Record& cell(std::size_t offset = 0) noexcept {
        return cells_[(head_cache_ + offset) % kCapacity];
    }

    /// Producer: hands the next `count` cells over, after `has_room(count)`.
    void publish(std::size_t count = 1) noexcept {
        head_cache_ += count;
        head_.store(head_cache_, std::memory_order_release);
    }

    /// Consumer: records in [tail(), head()) are complete and stay until
    /// `release_to()`.
    std::uint64_t head() const noexcept {
        return head_.load(std::memory_order_acquire);
    }
    std::uint64_t tail() const noexcept {
        return tail_.load(std::memory_order_relaxed);
    }
    const Record& at(std::uint64_t position) const noexcept {
        return cells_[position % kCapacity];
    }
    void release_to(std::uint64_t position) noexcept {
        tail_.store(position, std::memory_order_release);
    }

  private:
    BufferMemory& memory_;
    Record* const cells_;
    std::uint64_t head_cache_ = 0;  // the producer's own copy
    std::uint64_t tail_cache_ = 0;  // what the producer last saw of the consumer
    std::atomic<std::uint64_t> head_{0};
    alignas(64) std::atomic<std::uint64_t> tail_{0};  // written by the consumer
};

}  // namespace metatrain_timing::detail
