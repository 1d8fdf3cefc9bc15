#include "recorder/core/src/fork.hpp"

#include <pthread.h>

#include <new>
#include <utility>

#include "recorder/core/src/recorder.hpp"
#include "recorder/core/src/timed_lock.hpp"

namespace metatrain_timing::detail {
namespace {

// A file system may hang; a training may not.
constexpr std::chrono::milliseconds kForkPatience{2000};
constexpr std::chrono::milliseconds kPatienceOfTheNext{20};

Recorder* forked_recorder = nullptr;

// Locks for longer than a function; false after the deadline.
bool take(std::timed_mutex& mutex, Drain::TimePoint deadline) noexcept {
    TimedLock lock = lock_until(mutex, deadline);
    const bool owns = lock.owns_lock();
    lock.release();
    return owns;
}

}  // namespace

void handle_forks(Recorder& recorder) noexcept {
    forked_recorder = &recorder;
    pthread_atfork([] { forked_recorder->prepare_fork(); },
                   [] { forked_recorder->after_fork_in_parent(); },
                   [] { forked_recorder->after_fork_in_child(); });
}

void Recorder::prepare_fork() noexcept {
    if (!wiped_on_fork.is_ours.load(std::memory_order_relaxed)) {
        after_raw_clone();
    }
    // Where the last fork has waited for the same pass in vain, this one need not.
    const std::int64_t last_pass_ns = this->last_pass_ns();
    const auto deadline =
        std::chrono::steady_clock::now() +
        (last_pass_ns == stuck_since_ns_ ? kPatienceOfTheNext : kForkPatience);
    const bool holds_lifecycle = take(lifecycle_mutex_, deadline);
    fork_holds_lifecycle_ = holds_lifecycle;
    fork_epoch_ = epoch.load();
    fork_drain_ = drain_.load();
    fork_stopped_thread_ = false;
    fork_holds_pass_ = false;
    if (fork_drain_ != nullptr && holds_lifecycle) {
        fork_stopped_thread_ = fork_drain_->thread_runs();
        fork_drain_->stop_thread(deadline);
    }
    if (fork_drain_ != nullptr) {
        fork_holds_pass_ = take(fork_drain_->pass_mutex(), deadline);
        stuck_since_ns_ = fork_holds_pass_ ? -1 : last_pass_ns;
    }
    // These are held for a moment only, never while anything waits.
    stages.mutex().lock();
    counters.mutex().lock();
    definitions.mutex().lock();
    threads.mutex().lock();
}

void Recorder::after_fork_in_parent() noexcept {
    threads.mutex().unlock();
    definitions.mutex().unlock();
    counters.mutex().unlock();
    stages.mutex().unlock();
    if (fork_holds_pass_) {
        fork_drain_->pass_mutex().unlock();
    }
    if (fork_stopped_thread_ && epoch.load() != 0) {
        epoch.fetch_add(1);  // the next record of any thread starts it again
    }
    if (fork_holds_lifecycle_) {
        lifecycle_mutex_.unlock();
    }
}

void Recorder::after_fork_in_child() noexcept {
    wiped_on_fork.is_ours.store(true);
    threads.mutex().unlock();
    definitions.mutex().unlock();
    counters.mutex().unlock();
    stages.mutex().unlock();
    // The parent's file must neither be used nor be closed by SQLite. Without its
    // descriptors nobody can write to it by mistake; the parent's locks do not mind.
    if (fork_drain_ != nullptr && fork_holds_pass_) {
        fork_drain_->close_inherited_descriptors();
    }
    const bool is_clean =
        fork_holds_lifecycle_ && (fork_drain_ == nullptr || fork_holds_pass_);
    if (fork_holds_lifecycle_) {
        lifecycle_mutex_.unlock();
    } else {
        new (&lifecycle_mutex_) std::timed_mutex;  // its holder did not come along
    }
    unusable_ = unusable_ || !is_clean;
    forget_parent(fork_epoch_ != 0 && !unusable_);
}

// What the parent's other threads were at stays half done in here for ever, and locks
// that they held stay taken, that of malloc among them. So nothing is taken apart and
// nothing allocated: what a recorder that is off looks at is made anew, the rest is
// left as it is, and this one stays off.
void Recorder::after_raw_clone() noexcept {
    unusable_ = true;
    life_has_begun_ = false;
    drain_.store(nullptr);
    store_ = nullptr;
    new (&lifecycle_mutex_) std::timed_mutex;
    new (&stages.mutex()) std::mutex;
    new (&counters.mutex()) std::mutex;
    new (&definitions) Definitions;
    new (&threads) ThreadRegistry;
    new (&totals_) Totals;
    new (&drains_) decltype(drains_);
    new (&forgotten_drains_) decltype(forgotten_drains_);
    thread_local_state.state = nullptr;
    pthread_setspecific(thread_exit_key_, nullptr);
    wiped_on_fork.is_ours.store(true);
}

void Recorder::forget_parent(bool was_recording) {
    try {
        threads.forget_all();
        for (auto& drain : drains_) {
            forgotten_drains_.push_back(drain.release());
        }
    } catch (...) {
        was_recording = false;  // out of memory
    }
    drains_.clear();
    drain_.store(nullptr);
    if (store_ != nullptr) {
        store_->close_inherited();
        store_ = nullptr;
    }
    stages.keep_in(nullptr, NumberedName::Of::stage);
    counters.keep_in(nullptr, NumberedName::Of::counter);
    definitions.forget_all();
    totals_.reset();
    if (identity_.uuid.empty()) {
        process_uuid_.clear();  // the parent has not recorded and may never
    }
    parent_ = {std::move(process_uuid_), identity_.is_rank};
    process_uuid_.clear();
    process_info_ = {};
    process_is_described_ = false;
    identity_is_settled_ = false;
    life_has_begun_ = false;
    thread_local_state.state = nullptr;
    pthread_setspecific(thread_exit_key_, nullptr);
    ++life_;
    epoch.store(was_recording ? first_epoch_of(life_) : 0);
}

}  // namespace metatrain_timing::detail
