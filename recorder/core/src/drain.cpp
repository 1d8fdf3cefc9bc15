#include "recorder/core/src/drain.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include <metatrain_timing/recorder/epoch.hpp>
#include "recorder/core/src/adoption.hpp"
#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/complaints.hpp"
#include "recorder/core/src/definitions.hpp"
#include "recorder/core/src/process_facts.hpp"
#include "recorder/core/src/ring_store.hpp"
#include "recorder/core/src/signal_guard.hpp"
#include "recorder/core/src/tick_clock.hpp"
#include "recorder/core/src/timed_lock.hpp"
#include "recorder/core/src/totals.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr std::chrono::milliseconds kPeriod{100};
constexpr std::int64_t kClockPeriodNs = 10'000'000'000;
constexpr std::int64_t kUsagePeriodNs = 1'000'000'000;
constexpr std::int64_t kUsageReadings = 500;  // then rarer: months in 5,000 readings
constexpr std::int64_t kRetryPeriodNs = 1'000'000'000;  // disk full and the like
constexpr std::chrono::milliseconds kRetrySoon{10};     // a reader in the way
constexpr std::int64_t kAdoptionPeriodNs = 1'000'000'000;
constexpr std::chrono::milliseconds kAdoptionPatience{500};
constexpr std::int64_t kBusyPatienceNs = 1'000'000'000;
constexpr std::int64_t kThinningNs = 20'000'000;  // of a period, at most
constexpr std::int64_t kLastThinningNs = 500'000'000;
constexpr std::size_t kThinnedRows = 4000;  // in one transaction
// For an end that is slow, but does not hang.
constexpr std::chrono::seconds kLeeway{3};

bool is_busy(int code) {
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

// Has a thread of its own do `work`, not the drain's, which lets others go first. False
// where that is not done at `deadline`: it is left behind, as a file system hangs.
template <typename Work>
bool done_by(Drain::TimePoint deadline, Work work) noexcept {
    struct Progress {
        std::mutex mutex;
        std::condition_variable changed;
        bool is_done = false;
    };
    std::shared_ptr<Progress> progress;
    std::thread worker;
    try {
        progress = std::make_shared<Progress>();
        worker = std::thread([progress, work] {
            work();
            const std::lock_guard lock(progress->mutex);
            progress->is_done = true;
            progress->changed.notify_all();
        });
    } catch (...) {
        work();  // no thread to be had
        return true;
    }
    std::unique_lock lock(progress->mutex);
    const bool is_done =
        progress->changed.wait_until(lock, deadline, [&] { return progress->is_done; });
    lock.unlock();
    is_done ? worker.join() : worker.detach();
    return is_done;
}

const char* code_name(int code) {
    switch (code) {
        case SQLITE_FULL:
            return "disk_full";
        case SQLITE_IOERR:
            return "io_error";
        case SQLITE_NOMEM:
            return "out_of_memory";
        default:
            return "write_failed";
    }
}

}  // namespace

Drain::Drain(const DrainSource& source, std::uint64_t life,
             std::filesystem::path database, ProcessRow process, SizeLimit size_limit)
    : source_(source),
      life_(life),
      database_(std::move(database)),
      process_(std::move(process)),
      size_limit_(std::move(size_limit)) {
}

bool Drain::start_thread() noexcept {
    if (thread_runs()) {
        return true;
    }
    if (monotonic_ns() < next_start_ns_) {
        return false;
    }
    try {
        if (thread_.joinable()) {
            thread_.join();  // it had missed a deadline, and is over now or soon
        }
        stop_asked_.store(false);
        ended_ = false;
        runs_.store(true);
        const SignalGuard inherited_by_the_thread;
        thread_ = std::thread([this] { run(); });
        return true;
    } catch (...) {
        ended_ = true;
        runs_.store(false);
        next_start_ns_ = monotonic_ns() + kRetryPeriodNs;
        return false;
    }
}

void Drain::run() noexcept {
    platform::enter_background("mt-drain");
    while (true) {
        waker_.wait_for(kPeriod);
        if (stop_asked_.load() || failed()) {
            break;
        }
        wake_asked_.store(false);
        const std::lock_guard lock(pass_mutex_);
        tick_clock.adjust();
        note_clock();
        if (monotonic_ns() >= retry_at_ns_) {
            pass(false);
        }
        if (owned_.file && monotonic_ns() >= next_adoption_ns_) {
            adopt_the_dead();
        }
    }
    runs_.store(false);
    const std::lock_guard lock(ended_mutex_);
    ended_ = true;
    ended_changed_.notify_all();
}

// Which clock the times of this process are from; without the fact it is the system's.
void Drain::note_clock() noexcept {
    if (!clock_is_noted_ && tick_clock.is_ticking()) {
        clock_is_noted_ = true;
        try {
            source_.definitions.set_fact("clock.source", "tsc");
        } catch (...) {
            // out of memory
        }
    }
}

bool Drain::stop_thread(TimePoint deadline) noexcept {
    if (!thread_.joinable()) {
        return true;
    }
    stop_asked_.store(true);
    waker_.wake();
    {
        std::unique_lock lock(ended_mutex_);
        if (!ended_changed_.wait_until(lock, deadline, [this] { return ended_; })) {
            return false;
        }
    }
    thread_.join();
    return true;
}

void Drain::wake() noexcept {
    if (!wake_asked_.load(std::memory_order_relaxed) &&
        !wake_asked_.exchange(true, std::memory_order_relaxed)) {
        waker_.wake();
    }
}

bool Drain::flush(TimePoint deadline) noexcept {
    const SignalGuard guard;
    const TimedLock lock = lock_until(pass_mutex_, deadline);
    while (lock.owns_lock()) {
        const Outcome outcome = pass(false);
        if (outcome != Outcome::retry_soon ||
            std::chrono::steady_clock::now() > deadline) {
            return outcome == Outcome::done;
        }
        std::this_thread::sleep_for(kRetrySoon);
    }
    return false;
}

void Drain::save_children(TimePoint deadline) noexcept {
    const SignalGuard inherited_by_the_thread;
    const bool is_done = done_by(deadline + kLeeway, [=, this] {
        const TimedLock lock = lock_until(pass_mutex_, deadline);
        if (lock.owns_lock() && owned_.file) {
            adopt_the_dead();
        }
    });
    if (!is_done) {
        abandoned_.store(true);
    }
}

void Drain::finish(TimePoint deadline, bool children_ended_too) noexcept {
    const SignalGuard inherited_by_the_thread;
    if (!abandoned_.load() && !done_by(deadline + kLeeway, [=, this] {
            finish_now(deadline, children_ended_too);
        })) {
        abandoned_.store(true);
    }
    if (abandoned_.load() || !finished_) {
        source_.store.note_end(monotonic_ns());
    }
}

void Drain::finish_now(TimePoint deadline, bool children_ended_too) noexcept {
    const TimedLock lock = lock_until(pass_mutex_, deadline);
    if (!lock.owns_lock()) {
        return;
    }
    stop_asked_.store(true);
    waker_.wake();
    Outcome outcome = pass(true);
    while (outcome == Outcome::retry_soon &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(kRetrySoon);
        outcome = pass(true);
    }
    if (owned_.file) {
        adopt_the_dead(children_ended_too);
        owned_.file->make_self_contained();
        owned_.file.reset();
        descriptors_.clear();
    }
    if (abandoned_.load()) {
        return;  // the process goes on without, or has recorded anew
    }
    if ((outcome == Outcome::done || failed()) && !keeps_ring_) {
        source_.store.remove();
    } else {
        source_.store.note_end(monotonic_ns());
        if (!keeps_ring_) {
            say_what_is_left();
        }
    }
    if (owned_.lock) {
        owned_.lock->remove();
        owned_.lock.reset();
    }
    finished_ = true;
}

Drain::Outcome Drain::pass(bool last) noexcept {
    if (finished_ || abandoned_.load()) {
        return Outcome::done;
    }
    try {
        write(last);
        last_failure_ = 0;
        retry_at_ns_ = 0;
        busy_since_ns_ = 0;
        last_pass_ns_.store(monotonic_ns(), std::memory_order_relaxed);
        return Outcome::done;
    } catch (const NoFile& error) {
        fail(error.what());
    } catch (const SQLite::Exception& error) {
        return note_failure(error.getErrorCode(), error.what());
    } catch (const std::exception& error) {
        return note_failure(SQLITE_ERROR, error.what());
    } catch (...) {
        return note_failure(SQLITE_ERROR, "unknown error");
    }
    return Outcome::retry_later;
}

bool Drain::write(bool last) {
    using Frames = ThreadRegistry::Frames;
    const auto harvests = source_.threads.harvest(life_, source_.totals,
                                                  !is_thinned_ ? Frames::none
                                                  : last       ? Frames::some
                                                               : Frames::complete);
    if (failed()) {
        return false;
    }
    if (database_.empty()) {
        source_.threads.release(harvests);
        return true;
    }
    if (!has_its_descriptors()) {
        give_up_file();
        return false;
    }
    if (owned_.file && !owned_.file->is_in_place()) {
        lose_file("was removed or taken over while it was written");
        lost_.clear();  // its name is free
    }
    if (!owned_.file) {
        if (!worth_a_file(harvests, last)) {
            source_.threads.release(harvests);
            return true;
        }
        open_file();
    }
    const bool idle = !last && !walk_is_due_ && !worth_a_file(harvests, last) &&
                      !source_.definitions.pending() && monotonic_ns() < next_clock_ns_;
    if (!idle) {
        write_transaction(harvests, last);
    }
    source_.threads.release(harvests);
    if (descriptors_.empty()) {
        note_descriptors();
    }
    if (size_limit_.is_set()) {
        keep_within_limit(harvests, last);
    }
    return true;
}

// Once the run has reached its limit fewer batches and steps are written one by one,
// and what is in the file is made as thin, a part at a time.
void Drain::keep_within_limit(const std::vector<Harvest>& harvests, bool last) {
    RunFile& file = *owned_.file;
    const RunFile::Size size = file.size();
    if (size_limit_.has_grown(size.whole)) {
        file.checkpoint();  // others see how large it is
    }
    if (!last && size_limit_.is_reached(size.whole, size.used,
                                        walk_is_due_ || file.is_thinning_written())) {
        file.thin_more();
        source_.definitions.set_fact("thinning.keeps_one_in",
                                     std::to_string(file.keeps_one_in()));
        walk_is_due_ = true;
        if (!is_thinned_) {
            is_thinned_ = true;
            return;  // these harvests do not say what is open
        }
    }
    const bool knows_frames =
        std::all_of(harvests.begin(), harvests.end(),
                    [](const Harvest& harvest) { return harvest.has_all_frames; });
    const std::int64_t until_ns =
        monotonic_ns() + (last ? kLastThinningNs : kThinningNs);
    while (file.is_thinning_written() || (walk_is_due_ && knows_frames)) {
        const bool has_time = monotonic_ns() < until_ns;
        if (!has_time && !last) {
            break;
        }
        thin_a_part(harvests, has_time);
    }
}

void Drain::thin_a_part(const std::vector<Harvest>& harvests, bool has_time) {
    RunFile& file = *owned_.file;
    file.begin();
    try {
        if (!file.is_thinning_written()) {
            file.begin_thinning_written(harvests);
            walk_is_due_ = false;
        }
        if (has_time) {
            file.thin_written(kThinnedRows);
        } else {
            file.end_thinning_written();
        }
        file.commit();
    } catch (...) {
        file.roll_back();
        walk_is_due_ = true;
        throw;
    }
}

// Whether a thread has left anything: only then a process makes a file.
bool Drain::worth_a_file(const std::vector<Harvest>& harvests, bool last) const {
    for (const Harvest& harvest : harvests) {
        const bool has_sums = harvest.dropped && !harvest.dropped->empty();
        if (harvest.from != harvest.to || has_sums || (last && harvest.open->peek(0))) {
            return true;
        }
    }
    return false;
}

// The records wait in the ring file, if there is one, for a time when they can be
// written.
void Drain::say_what_is_left() const noexcept {
    try {
        source_.complaints.say(
            fmt::format("{} could not be written to the end; {}", database_.string(),
                        source_.store.is_a_file()
                            ? "the next training or mt-analyze saves the last records"
                            : "the last records are lost"));
    } catch (...) {
        // out of memory
    }
}

// Children that were killed, and whoever else of this run or an older one was.
void Drain::adopt_the_dead(bool children_ended_too) noexcept {
    if (process_.info.role != ProcessInfo::Role::main) {
        return;
    }
    try {
        AdoptionOptions options;
        if (children_ended_too) {
            options.ender_uuid = process_.process_uuid;
        }
        adopt_dead_rings(database_,
                         std::chrono::steady_clock::now() + kAdoptionPatience, options);
    } catch (...) {
        // out of memory: later
    }
    next_adoption_ns_ = monotonic_ns() + kAdoptionPeriodNs;
}

void Drain::open_file() {
    adopt_the_dead();
    if (process_.info.role == ProcessInfo::Role::main) {
        remove_orphaned_rings(database_);
    }
    owned_ =
        open_own_file(database_, process_, source_.stages, source_.counters, lost_);
    {
        const std::lock_guard lock(path_mutex_);
        path_ = owned_.file->path();
    }
    source_.store.note_database(owned_.file->path());
    if (owned_.detour_is_trouble) {
        source_.complaints.say(owned_.detour);
    }
    if (!owned_.detour.empty()) {
        source_.definitions.add_problem({monotonic_ns(), "other_file", owned_.detour});
    }
    if (process_.info.role == ProcessInfo::Role::main) {
        for (const auto& [key, value] : process_facts()) {
            source_.definitions.set_fact(key, value);
        }
    }
}

// What was written so far is lost or stays where it is; a new file gets the rest.
void Drain::lose_file(const std::string& why) {
    lost_ = fmt::format("{} {}", owned_.file->path().string(), why);
    source_.complaints.say(lost_);
    source_.definitions.add_problem({monotonic_ns(), "file_lost", lost_});
    source_.definitions.mark_all();
    is_thinned_ = false;
    walk_is_due_ = false;
    owned_.file->save_if_renamed();
    owned_.file.reset();
    if (owned_.lock) {
        owned_.lock->remove();
        owned_.lock.reset();
    }
    descriptors_.clear();
    next_clock_ns_ = 0;
    next_usage_ns_ = 0;
}

// A reader of an ended run keeps its file from becoming that of a live one, for as long
// as it likes; the records cannot wait as long.
void Drain::look_for_another_file() noexcept {
    if (owned_.file) {
        return;  // a reader is in nobody's way there, a writer will go away
    }
    const std::int64_t now = monotonic_ns();
    if (busy_since_ns_ == 0) {
        busy_since_ns_ = now;
    }
    if (now - busy_since_ns_ < kBusyPatienceNs) {
        return;
    }
    try {
        lost_ = fmt::format("{} is locked by another program", database_.string());
    } catch (...) {
        // out of memory: later
    }
}

// After the first transaction all files that SQLite keeps open are there.
void Drain::note_descriptors() {
    for (const int descriptor : platform::open_descriptors()) {
        const auto file = identity_of(descriptor);
        for (const char* suffix : {"", "-wal", "-shm", "-journal", ".lock"}) {
            const std::string name = owned_.file->path().string() + suffix;
            if (file && identity_behind(name.c_str()) == file) {
                descriptors_.push_back({descriptor, *file});
            }
        }
    }
}

// A program may close every descriptor it does not know (os.closerange, daemons) and
// open files of its own: SQLite would write its pages into those.
bool Drain::has_its_descriptors() const noexcept {
    return std::all_of(descriptors_.begin(), descriptors_.end(),
                       [](const OpenedFile& opened) { return opened.is_still_open(); });
}

// Nothing is closed that may be the program's by now. The locks are gone too, so that
// who looks at the run next takes this process for dead and saves what its ring file
// has.
void Drain::give_up_file() noexcept {
    const RunFile* const left_open = owned_.file.release();
    static_cast<void>(left_open);
    owned_.lock.reset();
    descriptors_.clear();
    keeps_ring_ = true;
    fail("the program closed the files of its recording: nothing more is recorded");
}

void Drain::close_inherited_descriptors() const noexcept {
    for (const OpenedFile& opened : descriptors_) {
        if (opened.is_still_open()) {
            close(opened.descriptor);
        }
    }
}

void Drain::write_transaction(const std::vector<Harvest>& harvests, bool last) {
    RunFile& file = *owned_.file;
    const PendingDefinitions definitions = source_.definitions.take();
    try {
        file.begin();
        file.write(definitions);
        for (const Harvest& harvest : harvests) {
            file.write(harvest);
            if (last || harvest.finished) {
                file.write_open(harvest);
            }
        }
        file.write_dropped(source_.threads.drop_counts());
        const ClockSnapshot clocks = read_clocks();
        if (last || clocks.monotonic_ns >= next_clock_ns_) {
            file.write(clocks);
        }
        if (last || clocks.monotonic_ns >= next_usage_ns_) {
            file.write_usage(clocks.monotonic_ns, harvests);
        }
        if (last) {
            file.write_ended(clocks.monotonic_ns);
        }
        file.commit();
        if (clocks.monotonic_ns >= next_clock_ns_) {
            next_clock_ns_ = clocks.monotonic_ns + kClockPeriodNs;
        }
        if (clocks.monotonic_ns >= next_usage_ns_) {
            first_usage_ns_ =
                first_usage_ns_ == 0 ? clocks.monotonic_ns : first_usage_ns_;
            next_usage_ns_ =
                clocks.monotonic_ns +
                std::max(kUsagePeriodNs,
                         (clocks.monotonic_ns - first_usage_ns_) / kUsageReadings);
        }
        source_.definitions.written(definitions);
        written_count_.store(file.written_count(), std::memory_order_relaxed);
    } catch (...) {
        file.roll_back();
        source_.definitions.give_back(definitions);
        throw;
    }
}

Drain::Outcome Drain::note_failure(int code, const char* text) noexcept {
    if (is_busy(code)) {
        look_for_another_file();
        return Outcome::retry_soon;
    }
    if (owned_.file && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)) {
        try {
            lose_file("is damaged");
            return Outcome::retry_soon;
        } catch (...) {
            // out of memory: later
        }
    }
    retry_at_ns_ = monotonic_ns() + kRetryPeriodNs;
    if (code == last_failure_) {
        return Outcome::retry_later;
    }
    last_failure_ = code;
    try {
        const std::string sentence =
            fmt::format("cannot write {}: {}; trying again, older records may get lost",
                        (owned_.file ? owned_.file->path() : database_).string(), text);
        source_.complaints.say(sentence);
        source_.definitions.add_problem({monotonic_ns(), code_name(code), sentence});
    } catch (...) {
        // out of memory: the failure itself is dealt with
    }
    return Outcome::retry_later;
}

void Drain::fail(const char* sentence) noexcept {
    failed_.store(true, std::memory_order_relaxed);
    std::uint64_t now = epoch.load();
    while (life_of(now) == life_ && !epoch.compare_exchange_weak(now, 0)) {
    }
    source_.complaints.say(sentence);
}

std::filesystem::path Drain::path() const {
    const std::lock_guard lock(path_mutex_);
    return path_;
}

}  // namespace metatrain_timing::detail
