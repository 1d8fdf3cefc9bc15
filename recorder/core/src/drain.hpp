#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/size_limit.hpp"
#include "recorder/core/src/slot.hpp"
#include "recorder/core/src/thread_registry.hpp"

namespace metatrain_timing::detail {

class Complaints;
class Definitions;
class RingStore;
class Totals;

/// What the drain works on; outlives it.
struct DrainSource {
    ThreadRegistry& threads;
    Definitions& definitions;
    Totals& totals;
    const Names& stages;
    const Names& counters;
    Complaints& complaints;
    RingStore& store;
};

/// Moves what threads recorded into the file of this process life, on a thread of its
/// own and on demand.
///
/// One pass at a time, under a lock, is the only place where SQLite is used. Records
/// stay in their rings until the transaction that wrote them is committed, so a pass
/// that fails is made up for by the next one.
class Drain {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// For `life`, into a file beside or at `database`; empty: totals only.
    Drain(const DrainSource& source, std::uint64_t life, std::filesystem::path database,
          ProcessRow process, SizeLimit size_limit);

    /// Starts the thread unless it runs; false if the system gives none.
    bool start_thread() noexcept;
    bool thread_runs() const noexcept { return runs_.load(std::memory_order_relaxed); }
    /// Ends the thread at once; what is recorded stays where it is. False if it is
    /// still busy at `deadline`; it ends when it gets that far.
    bool stop_thread(TimePoint deadline) noexcept;

    /// Asks the thread for a pass; takes no lock, and no system call while one is asked
    /// for.
    void wake() noexcept;
    /// CLOCK_MONOTONIC of the last pass.
    std::int64_t last_pass_ns() const noexcept {
        return last_pass_ns_.load(std::memory_order_relaxed);
    }

    /// Writes what is recorded now, by the calling thread. Whether it is all in the
    /// file.
    bool flush(TimePoint deadline) noexcept;
    /// The last pass: open intervals and the end of the process too, and closes the
    /// file. What is not done at `deadline`, as a file system hangs, is left to who
    /// saves the records of the dead.
    void finish(TimePoint deadline, bool children_ended_too) noexcept;
    /// Adopts what dead children left behind; as `finish()`.
    void save_children(TimePoint deadline) noexcept;

    /// Whether recording cannot go on: nothing can be written.
    bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

    std::filesystem::path path() const;
    std::int64_t written_count() const noexcept {
        return written_count_.load(std::memory_order_relaxed);
    }

    /// Held over a fork, so that the child's SQLite is in no half-way state.
    std::timed_mutex& pass_mutex() noexcept { return pass_mutex_; }
    /// In a forked child, while it holds the pass mutex: closes what it inherited of
    /// the file, its journals and its lock. SQLite is not asked; it must not notice.
    void close_inherited_descriptors() const noexcept;

  private:
    enum class Outcome { done, retry_soon, retry_later };

    void run() noexcept;
    void finish_now(TimePoint deadline, bool children_ended_too) noexcept;
    Outcome pass(bool last) noexcept;
    bool write(bool last);
    bool worth_a_file(const std::vector<Harvest>& harvests, bool last) const;
    void open_file();
    void adopt_the_dead(bool children_ended_too = false) noexcept;
    void note_clock() noexcept;
    void say_what_is_left() const noexcept;
    void lose_file(const std::string& why);
    void look_for_another_file() noexcept;
    void write_transaction(const std::vector<Harvest>& harvests, bool last);
    void keep_within_limit(const std::vector<Harvest>& harvests, bool last);
    void thin_a_part(const std::vector<Harvest>& harvests, bool has_time);
    void note_descriptors();
    bool has_its_descriptors() const noexcept;
    void give_up_file() noexcept;
    Outcome note_failure(int code, const char* text) noexcept;
    void fail(const char* sentence) noexcept;

    const DrainSource source_;
    const std::uint64_t life_;
    const std::filesystem::path database_;
    ProcessRow process_;

    std::timed_mutex pass_mutex_;  // guards what follows
    bool finished_ = false;
    OwnedFile owned_;
    std::string lost_;  // why the usual file cannot be used any more; empty: it can
    std::int64_t next_clock_ns_ = 0;
    std::int64_t next_usage_ns_ = 0;
    std::int64_t first_usage_ns_ = 0;
    bool clock_is_noted_ = false;
    std::int64_t next_adoption_ns_ = 0;
    std::int64_t retry_at_ns_ = 0;
    int last_failure_ = 0;
    std::int64_t busy_since_ns_ = 0;       // 0: it is not
    std::vector<OpenedFile> descriptors_;  // of the file and what lies beside it
    bool keeps_ring_ = false;              // for who finds it
    SizeLimit size_limit_;
    bool is_thinned_ = false;   // harvests need to know what is open
    bool walk_is_due_ = false;  // what is in the file is to be as thin as what comes

    mutable std::mutex path_mutex_;
    std::filesystem::path path_;
    std::atomic<std::int64_t> written_count_{0};
    std::atomic<std::int64_t> last_pass_ns_{0};
    std::atomic<bool> failed_{false};

    platform::Waker waker_;
    std::atomic<bool> wake_asked_{false};
    std::atomic<bool> stop_asked_{false};
    std::atomic<bool> runs_{false};
    std::mutex ended_mutex_;
    std::condition_variable ended_changed_;
    bool ended_ = true;
    std::atomic<bool> abandoned_{false};  // a file system hangs: nobody waits any more
    std::int64_t next_start_ns_ = 0;
    std::thread thread_;
};

}  // namespace metatrain_timing::detail
