#include <unistd.h>
#if defined(__APPLE__)
#include <sys/mount.h>
#endif

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail::platform {
namespace {

// Static objects are made by the first thread, as a rule.
const std::thread::id first_thread = std::this_thread::get_id();

}  // namespace

std::int64_t thread_id() noexcept {
    // Numbers of its own: those of the system may come again after a thread's end.
    static std::atomic<std::int64_t> last = 0;
    thread_local const std::int64_t own = ++last;
    return own;
}

bool is_main_thread() noexcept {
    return std::this_thread::get_id() == first_thread;
}

std::string thread_name() {
    return {};
}

void enter_background(const char*) noexcept {
}

std::string boot_id() {
    return "unknown";
}

std::optional<std::int64_t> process_start_ns(pid_t) {
    return std::nullopt;
}

std::string process_identity(pid_t pid) {
    return std::to_string(pid);
}

std::string pid_namespace() {
    return {};
}

pid_t parent_of(pid_t pid) {
    return pid == getpid() ? getppid() : 0;
}

std::optional<bool> started_with_variable(pid_t, std::string_view) {
    return std::nullopt;
}

bool trusts_ticks() noexcept {
    return false;
}

std::optional<ThreadUsage> thread_usage(std::int64_t /*thread_id*/) noexcept {
    return std::nullopt;
}

std::optional<std::int64_t> process_queued_ns() {
    return std::nullopt;
}

std::optional<int> affinity_cpu_count() {
    const unsigned count = std::thread::hardware_concurrency();
    return count > 0 ? std::optional<int>(static_cast<int>(count)) : std::nullopt;
}

std::optional<double> quota_cpu_count() {
    return std::nullopt;
}

std::string cpu_model() {
    return {};
}

bool is_local_filesystem(const std::filesystem::path& folder) {
#if defined(MNT_LOCAL)
    struct statfs info{};
    return statfs(folder.c_str(), &info) == 0 && (info.f_flags & MNT_LOCAL) != 0;
#else
    static_cast<void>(folder);
    return false;
#endif
}

bool maps_files() noexcept {
    return false;
}

std::filesystem::path shared_memory_folder() {
    return {};
}

// POSIX cannot promise room for what is stored through a mapping everywhere.
bool allocate(int, std::size_t, std::size_t) noexcept {
    return false;
}

void* map_shared(int, std::size_t, std::size_t) noexcept {
    return nullptr;
}

bool wipe_on_fork(void*, std::size_t) noexcept {
    return false;
}

std::vector<int> open_descriptors() {
    return {};
}

struct Waker::State {
    std::mutex mutex;
    std::condition_variable changed;
    bool woken = false;
};

Waker::Waker() : state_(new State) {
}

Waker::~Waker() {
    delete state_;
}

void Waker::wake() noexcept {
    {
        const std::lock_guard lock(state_->mutex);
        state_->woken = true;
    }
    state_->changed.notify_one();
}

void Waker::wait_for(std::chrono::nanoseconds timeout) noexcept {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, timeout, [this] { return state_->woken; });
    state_->woken = false;
}

}  // namespace metatrain_timing::detail::platform
