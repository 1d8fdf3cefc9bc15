#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "recorder/core/src/folder_entries.hpp"
#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail::platform {
namespace {

std::atomic<std::int64_t> background_thread{0};

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string first_line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Field `index` (from 1, as in proc(5)) of /proc/<pid>/stat. The command name, field 2,
// may hold blanks and parentheses: what follows its last ')' is field 3.
std::optional<std::int64_t> stat_field(pid_t pid, int index) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream fields(stat.substr(name_end + 1));
    std::string field;
    for (int current = 3; current <= index; ++current) {
        if (!(fields >> field)) {
            return std::nullopt;
        }
    }
    return std::strtoll(field.c_str(), nullptr, 10);
}

std::int64_t clock_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The tightest "cpu.max" from the process's control group up to the root of its view.
std::optional<double> quota_of_version_2() {
    std::ifstream groups("/proc/self/cgroup");
    std::string line;
    std::optional<double> tightest;
    while (std::getline(groups, line)) {
        if (!line.starts_with("0::")) {
            continue;
        }
        std::filesystem::path group(line.substr(3));
        while (true) {
            std::ifstream file("/sys/fs/cgroup" + group.string() + "/cpu.max");
            double quota = 0;
            double period = 0;
            if (file >> quota >> period && period > 0) {  // "max" is no number
                tightest = std::min(tightest.value_or(quota / period), quota / period);
            }
            if (!group.has_relative_path()) {
                break;
            }
            group = group.parent_path();
        }
    }
    return tightest;
}

std::optional<double> quota_of_version_1() {
    const double quota = std::strtod(
        first_line_of("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str(), nullptr);
    const double period = std::strtod(
        first_line_of("/sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str(), nullptr);
    if (quota <= 0 || period <= 0) {
        return std::nullopt;
    }
    return quota / period;
}

}  // namespace

std::int64_t thread_id() noexcept {
    return syscall(SYS_gettid);
}

bool is_main_thread() noexcept {
    return thread_id() == getpid();
}

std::string thread_name() {
    std::array<char, 16> name{};
    if (pthread_getname_np(pthread_self(), name.data(), name.size()) != 0) {
        return {};
    }
    return name.data();
}

void enter_background(const char* name) noexcept {
    background_thread.store(thread_id(), std::memory_order_relaxed);
    pthread_setname_np(pthread_self(), name);
    // On Linux "who" may be a thread. A nice of 5 still gets a share of a full machine.
    setpriority(PRIO_PROCESS, static_cast<id_t>(thread_id()), 5);
}

std::string boot_id() {
    std::string id = first_line_of("/proc/sys/kernel/random/boot_id");
    return id.empty() ? "unknown" : id;
}

// Linux, Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting on a
// run queue, time slices. A kernel that does not count has zeros there.
std::optional<ThreadUsage> thread_usage(std::int64_t thread_id) noexcept {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/task/%lld/schedstat",
                  static_cast<long long>(thread_id));
    const int descriptor = open(path.data(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return std::nullopt;
    }
    std::array<char, 128> text{};
    const ssize_t length = read(descriptor, text.data(), text.size() - 1);
    close(descriptor);
    ThreadUsage usage;
    const char* const end = text.data() + std::max<ssize_t>(length, 0);
    const auto cpu = std::from_chars(text.data(), end, usage.cpu_ns);
    if (cpu.ec != std::errc{} || cpu.ptr == end || usage.cpu_ns == 0) {
        return std::nullopt;
    }
    const auto queued = std::from_chars(cpu.ptr + 1, end, usage.queued_ns);
    return queued.ec == std::errc{} ? std::optional(usage) : std::nullopt;
}

std::optional<std::int64_t> process_queued_ns() {
    constexpr std::size_t kMostThreads = 128;
    const std::vector<std::string> threads = folder_entries("/proc/self/task");
    if (threads.size() > kMostThreads) {
        return std::nullopt;
    }
    std::optional<std::int64_t> sum_ns;
    for (const std::string& thread : threads) {
        const std::int64_t id = std::strtoll(thread.c_str(), nullptr, 10);
        const auto usage = id == background_thread.load(std::memory_order_relaxed)
                               ? std::nullopt
                               : thread_usage(id);
        if (usage) {
            sum_ns = sum_ns.value_or(0) + usage->queued_ns;
        }
    }
    return sum_ns;
}

std::optional<std::int64_t> process_start_ns(pid_t pid) {
    const auto ticks = stat_field(pid, 22);
    const std::int64_t tick_rate = sysconf(_SC_CLK_TCK);
    if (!ticks || tick_rate <= 0) {
        return std::nullopt;
    }
    // The kernel counts from boot, suspension included; CLOCK_MONOTONIC leaves it out.
    const std::int64_t suspended_ns =
        clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
    return *ticks * (1'000'000'000 / tick_rate) - suspended_ns;
}

std::string process_identity(pid_t pid) {
    // The start time in raw ticks: what is computed from it may differ by a nanosecond.
    return std::to_string(pid) + " " + std::to_string(stat_field(pid, 22).value_or(0)) +
           " " + pid_namespace() + " " + boot_id();
}

std::string pid_namespace() {
    std::array<char, 64> target{};
    const ssize_t length =
        readlink("/proc/self/ns/pid", target.data(), target.size() - 1);
    return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length))
                      : "";
}

pid_t parent_of(pid_t pid) {
    return static_cast<pid_t>(stat_field(pid, 4).value_or(0));
}

std::optional<bool> started_with_variable(pid_t pid, std::string_view name) {
    const std::string block = read_file("/proc/" + std::to_string(pid) + "/environ");
    if (block.empty()) {
        return std::nullopt;
    }
    const std::string wanted = std::string(name) + '=';
    for (std::size_t start = 0; start < block.size();) {
        if (block.compare(start, wanted.size(), wanted) == 0) {
            return true;
        }
        const auto end = block.find('\0', start);
        if (end == std::string::npos) {
            break;
        }
        start = end + 1;
    }
    return false;
}

bool trusts_ticks() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    // "Invariant TSC": leaf 8000_0007H, bit 8 of EDX (Intel SDM 3, 18.17.1; AMD APM 3,
    // E.4.6).
    unsigned int eax = 0;
    unsigned int ebx = 0;
    unsigned int ecx = 0;
    unsigned int edx = 0;
    if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0 || (edx & 1U << 8) == 0) {
        return false;
    }
    try {
        return first_line_of(
                   "/sys/devices/system/clocksource/clocksource0/"
                   "current_clocksource") == "tsc";
    } catch (...) {
        return false;
    }
#else
    return false;
#endif
}

std::optional<int> affinity_cpu_count() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        return CPU_COUNT(&set);
    }
    const long online =
        sysconf(_SC_NPROCESSORS_ONLN);  // more CPUs than a cpu_set_t holds
    return online > 0 ? std::optional<int>(static_cast<int>(online)) : std::nullopt;
}

std::optional<double> quota_cpu_count() {
    const auto quota = quota_of_version_2();
    return quota ? quota : quota_of_version_1();
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (line.starts_with("model name")) {
            const auto colon = line.find(": ");
            return colon == std::string::npos ? "" : line.substr(colon + 2);
        }
    }
    return {};
}

bool is_local_filesystem(const std::filesystem::path& folder) {
    // From statfs(2) and linux/magic.h.
    constexpr std::array<unsigned long, 9> kLocal = {
        0xEF53,      // ext2, ext3, ext4
        0x58465342,  // xfs
        0x9123683E,  // btrfs
        0x01021994,  // tmpfs
        0x794C7630,  // overlayfs
        0x2FC12FC1,  // zfs
        0xF2F52010,  // f2fs
        0xCA451A4E,  // bcachefs
        0x858458F6,  // ramfs
    };
    struct statfs info{};
    if (statfs(folder.c_str(), &info) != 0) {
        return false;
    }
    const auto type = static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL;
    return std::find(kLocal.begin(), kLocal.end(), type) != kLocal.end();
}

bool maps_files() noexcept {
    return true;
}

std::filesystem::path shared_memory_folder() {
    return "/dev/shm";
}

bool allocate(int descriptor, std::size_t offset, std::size_t size) noexcept {
    // Not posix_fallocate: where a filesystem cannot allocate, that writes zeros,
    // slowly.
    return fallocate(descriptor, 0, static_cast<off_t>(offset),
                     static_cast<off_t>(size)) == 0;
}

void* map_shared(int descriptor, std::size_t offset, std::size_t size) noexcept {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                              descriptor, static_cast<off_t>(offset));
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    if (madvise(memory, size, MADV_DONTFORK) != 0) {
        munmap(memory, size);
        return nullptr;
    }
    return memory;
}

bool wipe_on_fork(void* memory, std::size_t size) noexcept {
    return madvise(memory, size, MADV_WIPEONFORK) == 0;
}

std::vector<int> open_descriptors() {
    std::vector<int> descriptors;
    for (const std::string& name : folder_entries("/proc/self/fd")) {
        descriptors.push_back(static_cast<int>(std::strtol(name.c_str(), nullptr, 10)));
    }
    return descriptors;
}

struct Waker::State {
    sem_t semaphore;
};

Waker::Waker() : state_(new State) {
    sem_init(&state_->semaphore, 0, 0);
}

Waker::~Waker() {
    sem_destroy(&state_->semaphore);
    delete state_;
}

void Waker::wake() noexcept {
    sem_post(&state_->semaphore);
}

void Waker::wait_for(std::chrono::nanoseconds timeout) noexcept {
    const std::int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + timeout.count();
    timespec until{};
    until.tv_sec = until_ns / 1'000'000'000;
    until.tv_nsec = until_ns % 1'000'000'000;
    if (sem_clockwait(&state_->semaphore, CLOCK_MONOTONIC, &until) == 0) {
        while (sem_trywait(&state_->semaphore) == 0) {
            // several calls are one
        }
    }
}

}  // namespace metatrain_timing::detail::platform
