#include "recorder/core/src/recorder.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <metatrain_timing/recorder/step_tracker.hpp>
#include <new>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/fork.hpp"
#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/previous_attempt.hpp"
#include "recorder/core/src/process_facts.hpp"
#include "recorder/core/src/size_limit.hpp"
#include "recorder/core/src/timed_lock.hpp"
#include "recorder/core/src/utf8.hpp"
#include "recorder/core/src/uuid.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr const char* kDatabaseVariable = "METATRAIN_TIMING_DB";
// The longest that anything waits for us.
constexpr std::chrono::seconds kEndPatience{2};
constexpr std::chrono::milliseconds kAttachPatience{500};

Drain::TimePoint deadline() {
    return std::chrono::steady_clock::now() + kEndPatience;
}

// The end of a thread, after its thread_local objects are gone; they may still record.
void on_thread_exit(void* state) {
    thread_local_state.state = nullptr;
    Recorder::instance().threads.leave(static_cast<ThreadState*>(state));
}

void stop_at_exit() {
    metatrain_timing::stop();
}

// Each pass over a loader comes here: the environment is not written again, as other
// threads may be reading it.
void export_variable(const char* name, const std::string& value) {
    const char* const known = std::getenv(name);
    if (known == nullptr || value != known) {
        setenv(name, value.c_str(), 1);
    }
}

std::string current_folder() {
    std::error_code error;
    return std::filesystem::current_path(error).string();
}

}  // namespace

Recorder& Recorder::instance() noexcept {
    alignas(Recorder) static std::byte memory[sizeof(Recorder)];
    static Recorder* const recorder = [] {
        auto* const made = new (memory) Recorder;
        made->look_after_process();
        return made;
    }();
    if (!wiped_on_fork.is_ours.load(std::memory_order_relaxed)) [[unlikely]] {
        recorder->after_raw_clone();
    }
    return *recorder;
}

void Recorder::look_after_process() {
    pthread_key_create(&thread_exit_key_, on_thread_exit);
    handle_forks(*this);
    std::atexit(stop_at_exit);
    platform::wipe_on_fork(&wiped_on_fork, sizeof wiped_on_fork);
    wiped_on_fork.is_ours.store(true);
}

bool Recorder::start(const Options& options) {
    const TimedLock lock = lock_until(lifecycle_mutex_, deadline());
    if (!lock.owns_lock() || unusable_) {
        return false;
    }
    if (epoch.load() != 0) {
        return true;
    }
    options_ = options;
    if (!options_.database.empty()) {
        options_.database = std::filesystem::absolute(options_.database);
    }
    if (life_ > 0) {
        process_uuid_.clear();
        definitions.mark_all();
    }
    reset_totals();
    ++life_;
    life_has_begun_ = false;
    identity_is_settled_ = false;
    epoch.store(first_epoch_of(life_));
    return true;
}

void Recorder::save_children() {
    if (Drain* const drain = drain_.load()) {
        drain->save_children(deadline());
    }
}

// Without the lock of the recorder: a fork takes the two in the other order.
void Recorder::note_step_counts() noexcept {
    try {
        const StepTracker& tracker = StepTracker::of_process();
        if (epoch.load() == 0 || !tracker.has_counted()) {
            return;
        }
        for (const auto& [requester, count] : tracker.step_counts()) {
            definitions.set_fact("steps." + requester, std::to_string(count));
        }
    } catch (...) {
        // out of memory: the end goes on without
    }
}

void Recorder::stop(bool children_ended_too) {
    note_step_counts();
    const TimedLock lock = lock_until(lifecycle_mutex_, deadline());
    if (!lock.owns_lock()) {
        return;
    }
    epoch.store(0);
    Drain* const drain = drain_.load();
    if (!life_has_begun_ || drain == nullptr) {
        return;
    }
    const auto until = deadline();
    drain->finish(until, children_ended_too);
    drain->stop_thread(until);  // it was told at the beginning of finish()
    threads.end_life();
    life_has_begun_ = false;
}

void Recorder::fix_identity() {
    const TimedLock lock = lock_until(lifecycle_mutex_, deadline());
    if (lock.owns_lock() && epoch.load() != 0) {
        settle_identity();
        export_identity();
    }
}

// Once in each life: a forked child keeps its parent's run, but may have been made a
// rank.
void Recorder::settle_identity() {
    if (identity_is_settled_) {
        return;
    }
    const Environment environment = process_environment();
    if (process_uuid_.empty()) {
        process_uuid_ = random_uuid();
    }
    if (identity_.uuid.empty()) {
        std::optional<PreviousAttempt> previous;
        if (options_.continues_previous && !options_.database.empty()) {
            previous = find_previous_attempt(options_.database);
        }
        identity_ = make_identity(environment, getpid(), previous);
        if (identity_.fixed_by == getpid() && !options_.database.empty() &&
            options_.max_size_bytes > 0) {
            identity_.size_before_bytes = measure_files(options_.database).bytes;
        }
        parent_ = parent_life(environment);
    } else if (const auto rank = find_rank(environment); rank && !identity_.is_rank) {
        identity_.rank = *rank;
        identity_.is_rank = true;
    }
    identity_is_settled_ = true;
    if (environment(Complaints::kVariable) == identity_.uuid) {
        complaints_.mark_said();
    }
    // Of the ranks on a host one speaks for all: they write beside each other.
    complaints_.be_quiet(identity_.is_rank && identity_.rank.rank != 0 &&
                         identity_.rank.local_rank != 0);
    if (!options_.problem.empty() && identity_.fixed_by == getpid()) {
        complaints_.say(options_.problem);
        definitions.add_problem({monotonic_ns(), "options", options_.problem});
    }
    if (!options_.database.empty()) {
        if (const auto trouble = trouble_with(options_.database)) {
            complaints_.say(*trouble);
            definitions.add_problem({monotonic_ns(), "cannot_write", *trouble});
            epoch.store(0);
        }
    }
}

std::vector<EnvironmentVariable> Recorder::environment_for_children() {
    const TimedLock lock = lock_until(lifecycle_mutex_, deadline());
    std::vector<EnvironmentVariable> variables;
    if (!lock.owns_lock() || !identity_is_settled_) {
        return variables;
    }
    for (const char* name :
         {kRunVariable, kParentVariable, kDatabaseVariable, Complaints::kVariable}) {
        if (const char* const value = std::getenv(name)) {
            variables.push_back({name, value});
        }
    }
    return variables;
}

void Recorder::export_identity() {
    export_variable(kRunVariable, run_variable(identity_));
    export_variable(kParentVariable,
                    parent_variable({process_uuid_, identity_.is_rank}));
    if (complaints_.said()) {
        export_variable(Complaints::kVariable, identity_.uuid);
    }
    // Children may start in another folder.
    const char* const database = std::getenv(kDatabaseVariable);
    if (database != nullptr && *database != '\0' && *database != '/' &&
        !options_.database.empty()) {
        export_variable(kDatabaseVariable, options_.database.string());
    }
}

void Recorder::flush() {
    if (Drain* const drain = drain_.load()) {
        drain->flush(deadline());
    }
}

void Recorder::set_process(const ProcessInfo& info) {
    const TimedLock lock = lock_until(lifecycle_mutex_, deadline());
    if (lock.owns_lock()) {
        process_info_ = info;
        process_info_.start_method = to_utf8(info.start_method, Names::kMaxBytes);
        process_is_described_ = true;
    }
}

void Recorder::set_thread_name(std::string_view name) {
    ThreadState* state = thread_local_state.state;
    if (state == nullptr || state->epoch != epoch.load(std::memory_order_relaxed)) {
        state = attach();
    }
    if (state != nullptr) {
        threads.rename(*state, name);
    }
}

std::string Recorder::run_uuid() {
    const TimedLock lock = lock_until(lifecycle_mutex_, deadline());
    return lock.owns_lock() ? identity_.uuid : "";
}

std::string Recorder::process_uuid() {
    const TimedLock lock = lock_until(lifecycle_mutex_, deadline());
    if (lock.owns_lock() && process_uuid_.empty()) {
        process_uuid_ = random_uuid();
    }
    return lock.owns_lock() ? process_uuid_ : "";
}

std::vector<StageTotal> Recorder::stage_totals() {
    threads.harvest(life_of(epoch.load()), totals_);
    std::vector<StageTotal> totals;
    const std::lock_guard lock(threads.mutex());
    const auto& by_number = totals_.stages();
    for (std::size_t number = 1; number < by_number.size(); ++number) {
        if (by_number[number].calls > 0) {
            totals.push_back({stages.name(static_cast<std::uint16_t>(number)),
                              by_number[number].calls, by_number[number].total_ns});
        }
    }
    return totals;
}

std::vector<CounterTotal> Recorder::counter_totals() {
    threads.harvest(life_of(epoch.load()), totals_);
    std::vector<CounterTotal> totals;
    const std::lock_guard lock(threads.mutex());
    for (std::size_t number = 1; number < totals_.counters().size(); ++number) {
        if (totals_.counted()[number]) {
            totals.push_back({counters.name(static_cast<std::uint16_t>(number)),
                              totals_.counters()[number]});
        }
    }
    return totals;
}

void Recorder::reset_totals() {
    threads.harvest(life_of(epoch.load()), totals_);
    const std::lock_guard lock(threads.mutex());
    totals_.reset();
}

Health Recorder::health() {
    Health health;
    const Drain* const drain = drain_.load();
    if (drain != nullptr) {
        health.file = drain->path();
        health.recorded_count = drain->written_count();
    }
    const DropCounts drops = threads.drop_counts();
    health.dropped_count = drops.dropped;
    health.unsummed_count = drops.unsummed;
    health.last_problem = definitions.last_problem();
    health.degraded = health.dropped_count > 0 || !health.last_problem.empty() ||
                      (drain != nullptr && drain->failed());
    return health;
}

ThreadState* Recorder::attach() noexcept {
    try {
        const std::uint64_t now = epoch.load();
        ThreadState* const state = thread_local_state.state;
        if (now == 0) {
            return nullptr;
        }
        if (state != nullptr && life_of(state->epoch) == life_of(now)) {
            const TimedLock lock(lifecycle_mutex_, std::try_to_lock);
            if (lock.owns_lock() && drain_.load()->start_thread()) {
                state->epoch = now;
            }
            return state;
        }
        const TimedLock lock = lock_until(
            lifecycle_mutex_, std::chrono::steady_clock::now() + kAttachPatience);
        ThreadState* const attached = lock.owns_lock() ? attach_locked() : nullptr;
        if (attached == nullptr && recording()) {
            threads.drop();
        }
        return attached;
    } catch (...) {
        threads.drop();
        return nullptr;
    }
}

ThreadState* Recorder::attach_locked() {
    if (!life_has_begun_ && epoch.load() != 0) {
        begin_life();
    }
    const std::uint64_t now = epoch.load();
    if (now == 0) {
        return nullptr;
    }
    ThreadLocal& local = thread_local_state;
    ThreadState* const state = threads.enter(local.state, life_);
    if (state == nullptr) {
        return nullptr;
    }
    if (local.serial == 0) {
        // Far from other threads' serials: a handle that got to another thread fits
        // nothing there.
        local.serial = static_cast<std::uint32_t>(state->track.tid) * 0x9E3779B1U;
    }
    state->epoch = now;
    local.state = state;
    pthread_setspecific(thread_exit_key_, state);
    return state;
}

// The first record of this life is about to be made.
void Recorder::begin_life() {
    settle_identity();
    export_identity();
    if (epoch.load() == 0) {
        return;
    }
    const ProcessRow row = process_row();
    make_store(row);
    auto drain =
        std::make_unique<Drain>(DrainSource{threads, definitions, totals_, stages,
                                            counters, complaints_, *store_},
                                life_, options_.database, row,
                                SizeLimit(options_.database, options_.max_size_bytes,
                                          identity_.size_before_bytes));
    drains_.push_back(std::move(drain));
    drain_.store(drains_.back().get());
    life_has_begun_ = true;
    if (!drains_.back()->start_thread()) {
        definitions.add_problem({monotonic_ns(), "no_thread",
                                 "the system gave no thread to write records with"});
    }
}

void Recorder::make_store(const ProcessRow& process) {
    store_ = new RingStore(options_.database, process);
    threads.use(*store_);
    stages.keep_in(store_, NumberedName::Of::stage);
    counters.keep_in(store_, NumberedName::Of::counter);
    definitions.keep_in(store_);
}

ProcessInfo Recorder::described_process() const {
    ProcessInfo info = process_info_;
    if (!process_is_described_) {
        const bool fixed_the_run = identity_.fixed_by == getpid();
        const bool became_a_rank = identity_.is_rank && !parent_.was_rank;
        info.role = fixed_the_run || became_a_rank ? ProcessInfo::Role::main
                                                   : ProcessInfo::Role::child;
    }
    if (info.started_ns < 0) {
        info.started_ns = platform::process_start_ns(getpid()).value_or(monotonic_ns());
    }
    return info;
}

ProcessRow Recorder::process_row() const {
    ProcessRow row;
    row.run = identity_;
    row.command = to_utf8(options_.command, 65'536);
    row.cwd = to_utf8(current_folder(), 4096);
    row.process_uuid = process_uuid_;
    row.parent_uuid = parent_.process_uuid;
    row.info = described_process();
    row.host = host_name();
    row.boot_id = platform::boot_id();
    row.pid = getpid();
    return row;
}

void Recorder::wake_drain() noexcept {
    Drain* const drain = drain_.load(std::memory_order_acquire);
    if (drain == nullptr) {
        return;
    }
    drain->wake();
    if (!drain->thread_runs() && !drain->failed() && epoch.load() != 0) {
        epoch.fetch_add(1);  // the next record of any thread starts it
    }
}

std::int64_t Recorder::last_pass_ns() const noexcept {
    const Drain* const drain = drain_.load(std::memory_order_acquire);
    return drain == nullptr ? 0 : drain->last_pass_ns();
}

}  // namespace metatrain_timing::detail
