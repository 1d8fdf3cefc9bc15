#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace metatrain_timing::detail {

/// A value that its owner replaces while any other thread reads it, and that is whole
/// at each instant: whoever owns it may be killed on the way. The two copies are
/// written in turn; the lowest bit of the version says which one is whole. Zeros are a
/// value of zeros.
template <typename Value>
class Latched {
  public:
    /// Any thread.
    Value load() const noexcept {
        std::uint32_t version = version_.load(std::memory_order_acquire);
        while (true) {
            const Value value = load(version);
            const std::uint32_t after = version_.load(std::memory_order_relaxed);
            if (after == version) {
                return value;
            }
            version = version_.load(std::memory_order_acquire);
        }
    }

    /// The owner alone.
    void store(const Value& value) noexcept {
        const std::uint32_t next = version_.load(std::memory_order_relaxed) + 1;
        const auto words = std::bit_cast<Words>(value);
        // Release: who sees one of these words sees that the version before is over.
        for (std::size_t index = 0; index < words.size(); ++index) {
            copies_[next % 2][index].store(words[index], std::memory_order_release);
        }
        version_.store(next, std::memory_order_release);
    }

  private:
    using Words = std::array<std::uint64_t, sizeof(Value) / sizeof(std::uint64_t)>;
    using Copy = std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>>;
    static_assert(sizeof(Words) == sizeof(Value));

    Value load(std::uint32_t version) const noexcept {
        Words words;
        for (std::size_t index = 0; index < words.size(); ++index) {
            words[index] = copies_[version % 2][index].load(std::memory_order_acquire);
        }
        return std::bit_cast<Value>(words);
    }

    std::atomic<std::uint32_t> version_{0};
    std::array<Copy, 2> copies_{};
};

}  // namespace metatrain_timing::detail
