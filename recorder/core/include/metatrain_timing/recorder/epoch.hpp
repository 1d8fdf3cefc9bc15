#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace metatrain_timing::detail {

#if defined(__x86_64__) || defined(__i386__)
inline constexpr std::size_t kLargestPage = 4096;
#else
inline constexpr std::size_t kLargestPage = 65'536;
#endif

/// What a forked child does not inherit: the kernel gives it zeros, however it was
/// forked. Nothing else lies on the page.
struct alignas(kLargestPage) WipedOnFork {
    std::atomic<std::uint64_t> epoch{0};
    std::atomic<bool> is_ours{false};  // the recorder was made or looked after here
};
inline constinit WipedOnFork wiped_on_fork;

/// Not for callers, but here so that `Interval` need not call anything where recording
/// is off. What the hot path looks at to see whether it may record: 0 is off.
///
/// The upper half numbers the recording's life in this process tree: a new one begins
/// with `start()` and in each forked child, and nothing a thread keeps from an older
/// life is used. The lower half is raised when threads have something to look after in
/// the same life, such as starting the drain thread again after a fork.
inline constexpr std::atomic<std::uint64_t>& epoch = wiped_on_fork.epoch;

constexpr std::uint64_t life_of(std::uint64_t epoch_value) noexcept {
    return epoch_value >> 32U;
}

constexpr std::uint64_t first_epoch_of(std::uint64_t life) noexcept {
    return life << 32U;
}

}  // namespace metatrain_timing::detail
