#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace metatrain_timing::detail {

using TimedLock = std::unique_lock<std::timed_mutex>;

/// The lock, or after `deadline` one that owns nothing.
///
/// Waits by the system clock, in short turns: ThreadSanitizer does not know the
/// function that waits for a mutex by the steady one (GCC 12).
inline TimedLock lock_until(std::timed_mutex& mutex,
                            std::chrono::steady_clock::time_point deadline) {
    using std::chrono::milliseconds;
    TimedLock lock(mutex, std::try_to_lock);
    while (!lock.owns_lock()) {
        const auto left = deadline - std::chrono::steady_clock::now();
        if (left <= std::chrono::nanoseconds::zero()) {
            break;
        }
        const auto turn = std::min<std::chrono::nanoseconds>(left, milliseconds(100));
        static_cast<void>(lock.try_lock_until(
            std::chrono::system_clock::now() +
            std::chrono::duration_cast<std::chrono::system_clock::duration>(turn)));
    }
    return lock;
}

}  // namespace metatrain_timing::detail
