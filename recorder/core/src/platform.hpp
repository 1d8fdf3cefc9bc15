#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What differs between operating systems, in one place. platform_linux.cpp knows
/// Linux, platform_portable.cpp needs POSIX alone and knows less; one of them is
/// compiled in.
namespace metatrain_timing::detail::platform {

/// The kernel's number of the calling thread, as tools show it.
std::int64_t thread_id() noexcept;

/// Whether the calling thread is the one the process began with.
bool is_main_thread() noexcept;

/// Name of the calling thread, empty where threads have none.
std::string thread_name();

/// Names the calling thread and lets others go first; for the drain thread.
void enter_background(const char* name) noexcept;

/// Identity of the host's boot: monotonic times compare within it. Never empty.
std::string boot_id();

/// What a thread of this process has used of the CPUs since it began.
struct ThreadUsage {
    std::int64_t cpu_ns = 0;
    std::int64_t queued_ns = 0;  // could have run and had no CPU
};

/// Of the thread with this number; nothing if it is gone or the system does not tell.
std::optional<ThreadUsage> thread_usage(std::int64_t thread_id) noexcept;

/// How long the threads of this process that are there now could have run and had no
/// CPU, summed up; the background thread is left out. Nothing where the system does not
/// tell, or where more than 128 threads would have to be asked: 10 us each.
std::optional<std::int64_t> process_queued_ns();

/// When a process began on CLOCK_MONOTONIC, to the kernel's tick; nothing if unknown.
std::optional<std::int64_t> process_start_ns(pid_t pid);

/// What tells a process from every other one of this host, also from a later one with
/// its number: a text that is the same whoever asks.
std::string process_identity(pid_t pid);

/// Identity of the process number space (containers), empty if unknown.
std::string pid_namespace();

/// The parent of a process, 0 if unknown.
pid_t parent_of(pid_t pid);

/// Whether the environment that `pid` was started with has the variable; nothing if it
/// cannot be seen. Its value is not looked at.
std::optional<bool> started_with_variable(pid_t pid, std::string_view name);

/// Whether the CPU's counter runs at one rate, in all cores and when they sleep, and
/// the kernel keeps its own time by it.
bool trusts_ticks() noexcept;

/// CPUs the process may run on by affinity; nothing if unknown.
std::optional<int> affinity_cpu_count();

/// CPUs' worth of time that the control group grants; nothing without a limit.
std::optional<double> quota_cpu_count();

/// Model name of the CPU, empty if unknown.
std::string cpu_model();

/// Whether `folder` lies on a filesystem of this host. Shared memory and locks are
/// trusted there; a network's or an unknown one's are not.
bool is_local_filesystem(const std::filesystem::path& folder);

/// Whether files can be mapped as `allocate()` and `map_shared()` promise.
bool maps_files() noexcept;

/// Folder of a filesystem that is memory and shared by all processes, empty if there is
/// none.
std::filesystem::path shared_memory_folder();

/// Gives the bytes [offset, offset + size) of a file room in its filesystem; false
/// where that is full or cannot promise it.
bool allocate(int descriptor, std::size_t offset, std::size_t size) noexcept;

/// Maps the bytes shared, for this process and not its forked children; nullptr where
/// that cannot be done.
void* map_shared(int descriptor, std::size_t offset, std::size_t size) noexcept;

/// Lets a forked child find zeros in `size` bytes of private memory, whole pages,
/// however it was forked. False where that cannot be done.
bool wipe_on_fork(void* memory, std::size_t size) noexcept;

/// Numbers of all open descriptors of the process; empty if unknown.
std::vector<int> open_descriptors();

/// A sleep that another thread may cut short. `wake()` takes no lock.
class Waker {
  public:
    Waker();
    ~Waker();
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

    void wake() noexcept;
    /// Returns at `wake()`, also one that came before, or after `timeout`.
    void wait_for(std::chrono::nanoseconds timeout) noexcept;

  private:
    struct State;
    State* state_;
};

}  // namespace metatrain_timing::detail::platform
