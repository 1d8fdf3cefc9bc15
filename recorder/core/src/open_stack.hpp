#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "recorder/core/src/record.hpp"

namespace metatrain_timing::detail {

/// An open interval of a thread.
struct OpenFrame {
    std::int64_t start_ns = 0;
    LabelWords words{};              // label of the record to come
    std::int64_t cpu_start_ns = -1;  // where the label says that CPU time is measured
    std::uint32_t serial = 0;

    Label label() const noexcept { return std::bit_cast<Label>(words); }
    bool has_cpu() const noexcept {
        return kind_of(words) == RecordKind::interval_with_cpu;
    }
};

/// The open intervals of one thread, outermost first. Its thread alone changes it; any
/// other may take a copy of a frame, at the end of recording, while it does so: each
/// frame is a sequence lock whose sequence is the serial, 0 while the frame is written.
class OpenStack {
  public:
    static constexpr std::size_t kMaxDepth = 256;  // a record has 8 bits for it

    std::uint32_t depth() const noexcept {
        return depth_.load(std::memory_order_relaxed);
    }

    /// Owner: whether `serial` is what is open at `depth`.
    bool is_open(std::uint32_t depth, std::uint32_t serial) const noexcept {
        return depth < this->depth() &&
               frames_[depth].serial.load(std::memory_order_relaxed) == serial;
    }

    /// Owner, after `depth() < kMaxDepth`.
    void push(const OpenFrame& frame) noexcept {
        const std::uint32_t depth = this->depth();
        Frame& slot = frames_[depth];
        slot.serial.store(0, std::memory_order_relaxed);
        slot.start_ns.store(frame.start_ns, std::memory_order_release);
        slot.label[0].store(frame.words[0], std::memory_order_release);
        slot.label[1].store(frame.words[1], std::memory_order_release);
        if (frame.has_cpu()) {
            slot.cpu_start_ns.store(frame.cpu_start_ns, std::memory_order_release);
        }
        slot.serial.store(frame.serial, std::memory_order_release);
        depth_.store(depth + 1, std::memory_order_release);
    }

    /// Owner, after `depth() > 0`: the innermost frame.
    OpenFrame top() const noexcept {
        return load(frames_[depth() - 1], std::memory_order_relaxed);
    }

    /// Owner: takes the innermost frame off.
    OpenFrame pop() noexcept {
        const OpenFrame frame = top();
        depth_.store(depth() - 1, std::memory_order_release);
        return frame;
    }

    /// Owner: the frame at `depth`, which is open.
    OpenFrame at(std::uint32_t depth) const noexcept {
        return load(frames_[depth], std::memory_order_relaxed);
    }

    /// Owner: takes off what is open at `depth` and inside of it.
    void pop_to(std::uint32_t depth) noexcept {
        depth_.store(depth, std::memory_order_release);
    }

    void clear() noexcept { depth_.store(0, std::memory_order_release); }

    /// Any thread: the frame at `depth`, or nothing if it is not open (any more).
    std::optional<OpenFrame> peek(std::uint32_t depth) const noexcept {
        if (depth >= depth_.load(std::memory_order_acquire)) {
            return std::nullopt;
        }
        const Frame& slot = frames_[depth];
        const std::uint32_t before = slot.serial.load(std::memory_order_acquire);
        const OpenFrame frame = load(slot, std::memory_order_acquire);
        if (before == 0 || slot.serial.load(std::memory_order_relaxed) != before) {
            return std::nullopt;
        }
        return frame;
    }

  private:
    struct Frame {
        std::atomic<std::int64_t> start_ns{0};
        std::array<std::atomic<std::uint64_t>, 2> label{};
        std::atomic<std::int64_t> cpu_start_ns{-1};
        std::atomic<std::uint32_t> serial{0};
    };

    static OpenFrame load(const Frame& slot, std::memory_order order) noexcept {
        OpenFrame frame;
        frame.serial = slot.serial.load(order);
        frame.start_ns = slot.start_ns.load(order);
        frame.words = {slot.label[0].load(order), slot.label[1].load(order)};
        if (frame.has_cpu()) {
            frame.cpu_start_ns = slot.cpu_start_ns.load(order);
        }
        return frame;
    }

    std::atomic<std::uint32_t> depth_{0};
    std::array<Frame, kMaxDepth> frames_;
};

}  // namespace metatrain_timing::detail
