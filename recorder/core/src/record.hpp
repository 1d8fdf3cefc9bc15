#pragma once

#include <cstdint>
#include <limits>

#include <metatrain_timing/recorder/interval.hpp>

namespace metatrain_timing::detail {

enum class RecordKind : std::uint8_t {
    interval,           // payload: dur_ns
    interval_with_cpu,  // the same, and the next record is its `cpu`
    cpu,                // payload: cpu_ns of the interval before
    counter,            // payload: bits of the double; `name` is a counter's
};

/// "Unknown" in the 32-bit fields of a record.
inline constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

/// A context as records carry it.
struct PackedContext {
    std::uint32_t step = kUnknown;
    std::uint32_t batch = kUnknown;
    std::uint32_t iterator = kUnknown;
};

constexpr std::uint32_t pack(std::int64_t value) noexcept {
    return value < 0 || value >= kUnknown ? kUnknown
                                          : static_cast<std::uint32_t>(value);
}

constexpr std::int64_t unpack(std::uint32_t value) noexcept {
    return value == kUnknown ? -1 : std::int64_t{value};
}

constexpr PackedContext pack(const Context& context) noexcept {
    return {pack(context.step), pack(context.batch), pack(context.iterator)};
}

constexpr Context unpack(const PackedContext& context) noexcept {
    return {unpack(context.iterator), unpack(context.batch), unpack(context.step)};
}

/// What a record is of. 16 bytes, which move as two words.
struct Label {
    PackedContext context;
    std::uint16_t name = 0;  // StageId or CounterId
    std::uint8_t depth = 0;
    RecordKind kind = RecordKind::interval;
};
static_assert(sizeof(Label) == 16);

/// What a thread leaves behind for the drain: half a cache line.
struct Record {
    std::int64_t start_ns = 0;
    std::uint64_t payload = 0;
    Label label;
};
static_assert(sizeof(Record) == 32);

}  // namespace metatrain_timing::detail
