#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <metatrain_timing/recorder/recorder.hpp>

#include <metatrain_timing/recorder/epoch.hpp>
#include "recorder/core/src/complaints.hpp"
#include "recorder/core/src/definitions.hpp"
#include "recorder/core/src/drain.hpp"
#include "recorder/core/src/identity.hpp"
#include "recorder/core/src/names.hpp"
#include "recorder/core/src/ring_store.hpp"
#include "recorder/core/src/thread_registry.hpp"
#include "recorder/core/src/totals.hpp"

namespace metatrain_timing::detail {

/// The one recorder of the process, behind the public functions.
///
/// Made at the first use and never destroyed: destructors of static objects, and
/// threads that outlive main(), may still record.
class Recorder {
  public:
    static Recorder& instance() noexcept;

    Names stages;
    Names counters;
    Definitions definitions;
    ThreadRegistry threads;

    bool start(const Options& options);
    void stop(bool children_ended_too);
    void save_children();
    void fix_identity();
    void flush();
    void set_process(const ProcessInfo& info);
    void set_thread_name(std::string_view name);
    std::string run_uuid();
    std::string process_uuid();
    std::vector<EnvironmentVariable> environment_for_children();
    std::vector<StageTotal> stage_totals();
    std::vector<CounterTotal> counter_totals();
    void reset_totals();
    Health health();

    /// Whether this process, forked at a bad moment, never records. Set before it has a
    /// second thread.
    bool is_unusable() const noexcept { return unusable_; }

    /// The hot path's way out: makes the calling thread ready for the epoch. nullptr if
    /// it cannot record now.
    ThreadState* attach() noexcept;
    /// A ring is filling up, or a turn is over.
    void wake_drain() noexcept;
    std::int64_t last_pass_ns() const noexcept;

    /// Around fork(); see fork.cpp.
    void prepare_fork() noexcept;
    void after_fork_in_parent() noexcept;
    void after_fork_in_child() noexcept;
    /// In a child that was made without any of these.
    void after_raw_clone() noexcept;

  private:
    Recorder() = default;
    void look_after_process();

    ThreadState* attach_locked();
    void begin_life();
    void settle_identity();
    void export_identity();
    ProcessInfo described_process() const;
    ProcessRow process_row() const;
    void make_store(const ProcessRow& process);
    void forget_parent(bool was_recording);
    void note_step_counts() noexcept;

    std::timed_mutex lifecycle_mutex_;  // guards what follows
    Options options_;
    std::uint64_t life_ = 0;
    bool life_has_begun_ = false;  // its first record was made
    ProcessInfo process_info_;
    bool process_is_described_ = false;  // by set_process()
    RunIdentity identity_;
    ParentLife parent_;
    std::string process_uuid_;
    bool identity_is_settled_ = false;  // for this life
    bool unusable_ = false;  // forked from within a pass: SQLite must not be touched
    pthread_key_t thread_exit_key_{};
    Complaints complaints_;
    RingStore* store_ = nullptr;  // of this life; never destroyed

    Totals totals_;                       // under the registry's mutex
    std::atomic<Drain*> drain_{nullptr};  // of this life; older ones are kept below
    std::vector<std::unique_ptr<Drain>> drains_;
    std::vector<Drain*> forgotten_drains_;  // a parent's; neither used nor destroyed

    // Between prepare_fork() and what follows it:
    bool fork_holds_lifecycle_ = false;
    std::uint64_t fork_epoch_ = 0;
    Drain* fork_drain_ = nullptr;
    bool fork_stopped_thread_ = false;
    bool fork_holds_pass_ = false;
    std::int64_t stuck_since_ns_ = -1;  // the last pass before one that held up a fork
};

}  // namespace metatrain_timing::detail
