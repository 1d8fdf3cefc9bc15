#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

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

/// A label as the two words that it lies in. Put together in registers: a CPU that
/// reads as words what was written in parts has to wait until all parts are in its
/// cache, some 5 ns.
using LabelWords = std::array<std::uint64_t, 2>;
static_assert(sizeof(LabelWords) == sizeof(Label));

inline LabelWords label_words(const PackedContext& context, std::uint16_t name,
                              std::uint8_t depth, RecordKind kind) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        return {context.step | std::uint64_t{context.batch} << 32,
                context.iterator | std::uint64_t{name} << 32 |
                    std::uint64_t{depth} << 48 |
                    static_cast<std::uint64_t>(kind) << 56};
    } else {
        return std::bit_cast<LabelWords>(Label{context, name, depth, kind});
    }
}

inline RecordKind kind_of(const LabelWords& words) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        return static_cast<RecordKind>(words[1] >> 56);
    } else {
        return std::bit_cast<Label>(words).kind;
    }
}

/// What a thread leaves behind for the drain: half a cache line.
struct Record {
    std::int64_t start_ns = 0;
    std::uint64_t payload = 0;
    Label label;
};
static_assert(sizeof(Record) == 32);

/// Fills a cell word by word.
inline void fill(Record& cell, std::int64_t start_ns, std::uint64_t payload,
                 const LabelWords& label) noexcept {
    cell.start_ns = start_ns;
    cell.payload = payload;
    static_assert(std::is_trivially_copyable_v<Label>);
    std::memcpy(static_cast<void*>(&cell.label), label.data(), sizeof(label));
}

}  // namespace metatrain_timing::detail
