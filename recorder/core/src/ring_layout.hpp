#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/core/src/drop_table.hpp"
#include "recorder/core/src/open_stack.hpp"
#include "recorder/core/src/record.hpp"

/// What lies in the memory behind the rings of one process life, in the order of the
/// file that it is where there is place for one: a header, then areas, each on pages of
/// its own. Integers are those of the host, which alone reads them: the file lives no
/// longer than the host's boot, or lies beside the database until it is adopted.
///
/// Positions, counts and offsets are published with release after what they tell of, so
/// that the file of a process killed at any instant is sound up to what they tell.
namespace metatrain_timing::detail {

inline constexpr std::array<char, 8> kRingMagic = {'m', 't', 'r',  'i',
                                                   'n', 'g', '\r', '\n'};
inline constexpr std::uint32_t kRingLayoutVersion = 1;

/// Records between one thread that makes them and the drain that takes them away.
struct ThreadArea {
    static constexpr std::size_t kCapacity = 8192;  // records: 256 KiB

    // The thread's own:
    alignas(64) std::atomic<std::uint64_t> head;
    std::atomic<std::int64_t> dropped_count;   // records that are not in the ring
    std::atomic<std::int64_t> unsummed_count;  // of those, not in `drops` either
    OpenStack open;
    // The drain's:
    alignas(64) std::atomic<std::uint64_t> tail;
    // Under the registry's mutex:
    std::atomic<std::uint64_t> track_number;  // 0: no thread's
    std::int64_t tid;
    std::array<char, 256> name;  // ends with a zero
    // The cell of a position is position % kCapacity.
    alignas(64) std::array<Record, kCapacity> cells;
    // The thread's own, but for what it says:
    alignas(64) DropTable drops;
};

/// Definitions, one after the other: see definition_code.hpp. `used` bytes are whole.
struct DefinitionArea {
    static constexpr std::size_t kCapacity = 65'536 - 64;

    alignas(64) std::atomic<std::uint64_t> used;
    alignas(64) std::array<std::byte, kCapacity> bytes;
};

enum class AreaKind : std::uint32_t {
    thread = 1,
    lasting = 2,  // definitions that records need for as long as the process lives
    pending = 3,  // definitions that were not in the database when they were made
};

struct AreaEntry {
    std::uint64_t offset;  // in the file
    AreaKind kind;
    std::uint32_t reserved;
};

struct RingHeader {
    static constexpr std::size_t kMaxAreas = 256;
    static constexpr std::size_t kMaxPath = 4096;

    std::array<char, 8> magic;
    // Last of all, when the file is ready to be adopted; 0 before.
    std::atomic<std::uint32_t> layout_version;
    std::atomic<std::uint32_t> area_count;
    std::array<AreaEntry, kMaxAreas> areas;
    // What METATRAIN_TIMING_DB names; ends with a zero.
    std::array<char, kMaxPath> run_path;
    // When recording ended, where that could not be written to the database; else 0.
    std::atomic<std::int64_t> ended_ns;
    // The database that the records go to, as soon as there is one.
    std::atomic<std::uint32_t> path_size;  // 0: none yet
    std::array<char, kMaxPath> path;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(RingHeader) <= 16'384);

}  // namespace metatrain_timing::detail
