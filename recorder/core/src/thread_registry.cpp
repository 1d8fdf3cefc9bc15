#include "recorder/core/src/thread_registry.hpp"

#include <memory>

#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/totals.hpp"
#include "recorder/core/src/utf8.hpp"

namespace metatrain_timing::detail {
namespace {

// The kernel's name, but what everybody calls the first thread.
std::string initial_name() {
    if (platform::is_main_thread()) {
        return "MainThread";
    }
    std::string name = to_utf8(platform::thread_name(), 255);
    return name.empty() ? "thread" : name;
}

}  // namespace

thread_local constinit ThreadLocal thread_local_state MT_TLS_MODEL;

ThreadState* ThreadRegistry::enter(ThreadState* old, std::uint64_t life) {
    const std::int64_t tid = platform::thread_id();
    std::string name = initial_name();
    const std::lock_guard lock(mutex_);
    active_.reserve(active_.size() + 1);
    ThreadState* state = old;
    if (state == nullptr && !idle_.empty()) {
        state = idle_.back();
        idle_.pop_back();
    }
    if (state == nullptr) {
        auto made = std::make_unique<ThreadState>(anonymous_memory());
        if (!made->ring.has_memory()) {
            return nullptr;
        }
        state = made.release();
    }
    // Records that came too late for an older life go unseen.
    state->ring.release_to(state->ring.head());
    state->counted_to = state->ring.head();
    state->open.clear();
    state->context = {};
    state->dropped_count.store(0, std::memory_order_relaxed);
    state->life = life;
    state->finished = false;
    state->track_number = ++track_count_;
    state->tid = tid;
    state->name = std::move(name);
    state->name_version = 0;
    active_.push_back(state);
    return state;
}

void ThreadRegistry::leave(ThreadState* state) noexcept {
    const std::lock_guard lock(mutex_);
    for (const ThreadState* active : active_) {
        if (active == state) {
            state->finished = true;
            return;
        }
    }
    try {
        idle_.push_back(state);
    } catch (...) {
        // out of memory: the state is not used again
    }
}

std::vector<Harvest> ThreadRegistry::harvest(std::uint64_t life, Totals& totals) {
    const std::lock_guard lock(mutex_);
    std::vector<Harvest> harvests;
    harvests.reserve(active_.size());
    for (ThreadState* state : active_) {
        if (state->life != life) {
            continue;
        }
        const std::uint64_t head = state->ring.head();
        totals.add(state->ring, state->counted_to, head);
        state->counted_to = head;
        harvests.push_back({state, state->ring.tail(), head, state->track_number,
                            state->name_version, state->finished});
    }
    return harvests;
}

void ThreadRegistry::release(const std::vector<Harvest>& harvests) noexcept {
    const std::lock_guard lock(mutex_);
    for (const Harvest& harvest : harvests) {
        harvest.state->ring.release_to(harvest.to);
        if (!harvest.finished) {
            continue;
        }
        lost_count_.fetch_add(
            harvest.state->dropped_count.exchange(0, std::memory_order_relaxed),
            std::memory_order_relaxed);
        std::erase(active_, harvest.state);
        try {
            idle_.push_back(harvest.state);
        } catch (...) {
            // out of memory: the state is not used again
        }
    }
}

TrackInfo ThreadRegistry::track(const ThreadState& state) const {
    const std::lock_guard lock(mutex_);
    return {state.tid, state.name};
}

void ThreadRegistry::rename(ThreadState& state, std::string_view name) {
    std::string valid = to_utf8(name, 255);
    const std::lock_guard lock(mutex_);
    state.name = std::move(valid);
    ++state.name_version;
}

std::int64_t ThreadRegistry::dropped_count() const noexcept {
    const std::lock_guard lock(mutex_);
    std::int64_t count = lost_count_.load(std::memory_order_relaxed);
    for (const ThreadState* state : active_) {
        count += state->dropped_count.load(std::memory_order_relaxed);
    }
    return count;
}

void ThreadRegistry::end_life() noexcept {
    const std::lock_guard lock(mutex_);
    for (ThreadState* state : active_) {
        if (state->finished) {
            try {
                idle_.push_back(state);
            } catch (...) {
                // out of memory: the state is not used again
            }
        }
    }
    active_.clear();
    track_count_ = 0;
    lost_count_.store(0, std::memory_order_relaxed);
}

void ThreadRegistry::forget_all() {
    forgotten_.insert(forgotten_.end(), active_.begin(), active_.end());
    forgotten_.insert(forgotten_.end(), idle_.begin(), idle_.end());
    active_.clear();
    idle_.clear();
    track_count_ = 0;
    lost_count_.store(0, std::memory_order_relaxed);
}

}  // namespace metatrain_timing::detail
