#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail::platform {

std::int64_t thread_id() noexcept {
    const auto hash = std::hash<std::thread::id>{}(std::this_thread::get_id());
    return static_cast<std::int64_t>(hash >> 1);  // SQLite's integers are signed
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

bool is_local_filesystem(const std::filesystem::path&) {
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
