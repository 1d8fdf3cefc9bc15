#include <metatrain_timing/recorder/step_tracker.hpp>

#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>
#include <new>

namespace metatrain_timing {
namespace {

// One lock for all trackers, which nobody holds while the process forks: steps are
// rare, and a child must not inherit a lock whose holder did not come along.
class Lock {
  public:
    static std::unique_lock<std::mutex> take() {
        // Threads may outlive main(): never destroyed.
        alignas(Lock) static std::byte memory[sizeof(Lock)];
        static Lock* const lock = new (memory) Lock;
        return std::unique_lock(lock->mutex_);
    }

  private:
    Lock() {
        forked = this;
        pthread_atfork([] { forked->mutex_.lock(); }, [] { forked->mutex_.unlock(); },
                       [] { forked->mutex_.unlock(); });
    }

    static inline Lock* forked = nullptr;
    std::mutex mutex_;
};

// What the calling thread records from now on is of this step; the turns of a loop over
// a loader say theirs themselves.
void carry(std::int64_t step) noexcept {
    if (!recording()) {
        return;
    }
    Context now = context();
    if (now.iterator < 0) {
        now.step = step;
        set_context(now);
    }
}

}  // namespace

StepTracker& StepTracker::of_process() noexcept {
    alignas(StepTracker) static std::byte memory[sizeof(StepTracker)];
    static StepTracker* const tracker = new (memory) StepTracker;
    return *tracker;
}

StepTracker::Counts::iterator StepTracker::find_or_init(std::string_view requester) {
    const auto known = counts_.find(requester);
    return known != counts_.end()
               ? known
               : counts_.emplace(std::string(requester), current_step()).first;
}

void StepTracker::init_step_count(std::string_view requester) {
    const auto lock = Lock::take();
    find_or_init(requester)->second = current_step();
}

bool StepTracker::erase_step_count(std::string_view requester) {
    const auto lock = Lock::take();
    const auto known = counts_.find(requester);
    if (known == counts_.end()) {
        return false;
    }
    counts_.erase(known);
    return true;
}

std::int64_t StepTracker::increment_step(std::string_view requester) {
    auto lock = Lock::take();
    counter_ = getpid();
    const std::int64_t count = ++find_or_init(requester)->second;
    // By one at most: no count is ahead of the step, and each begins with it.
    if (count > current_step()) {
        current_step_.store(count, std::memory_order_relaxed);
        call_hook(lock);
    }
    lock.unlock();
    const std::int64_t step = current_step();
    if (this == &of_process()) {
        carry(step);
    }
    return step;
}

bool StepTracker::has_counted() const {
    const auto lock = Lock::take();
    return counter_ == getpid();
}

std::map<std::string, std::int64_t> StepTracker::step_counts() const {
    const auto lock = Lock::take();
    return {counts_.begin(), counts_.end()};
}

// Whoever is calling the hook goes on with the steps that come meanwhile, also with
// those that the hook itself asks for; in a child forked meanwhile nobody is.
void StepTracker::call_hook(std::unique_lock<std::mutex>& lock) {
    if (!on_step_ || announcer_ == getpid()) {
        return;
    }
    announcer_ = getpid();
    try {
        while (announced_step_ < current_step()) {
            const std::int64_t step = ++announced_step_;
            lock.unlock();
            on_step_(step);
            lock.lock();
        }
    } catch (...) {
        lock.lock();
        announcer_ = 0;
        throw;
    }
    announcer_ = 0;
}

}  // namespace metatrain_timing
