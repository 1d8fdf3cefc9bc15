#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metatrain_timing {

/// How to record. Every field has the meaning of the environment variable beside it.
struct Options {
    /// METATRAIN_TIMING_DB: the file of rank 0's training process; made absolute by
    /// `start()`. Empty: nothing is written, only `totals()` are kept.
    std::filesystem::path database = {};
    /// Command line for the run's row, secrets masked by the caller.
    std::string command = {};
    /// Whether this training goes on where the newest run in `database` stopped; it is
    /// then the next attempt of that run's job.
    bool continues_previous = false;
    /// METATRAIN_TIMING_MAX_SIZE: bytes that the files of a run may take, 0: any
    /// number. Beyond, some batches and steps are kept one by one, of the others only
    /// exact sums.
    std::int64_t max_size_bytes = std::int64_t{2} << 30;
    /// What the environment asked for and cannot be used, in one sentence: said once on
    /// stderr and noted in the run (`health`, code `options`). Empty: nothing.
    std::string problem = {};
};

/// Which process this is; see the table `process` of the schema.
struct ProcessInfo {
    enum class Role : std::uint8_t { main, worker, child };
    Role role = Role::main;
    std::optional<std::int64_t> worker_id = {};
    std::int64_t loader = -1;       // number of the loader a worker works for
    std::string start_method = {};  // empty: not started by Python
    std::int64_t started_ns =
        -1;  // CLOCK_MONOTONIC; -1: the kernel's process start time
};

/// A DataLoader object; see the table `loader`. Absent optionals become NULL.
struct LoaderInfo {
    std::string name = {};
    std::string created_at = {};
    std::string dataset_class = {};
    std::int64_t num_workers = 0;
    std::optional<std::int64_t> batch_size = {};
    std::optional<std::int64_t> prefetch_factor = {};
    bool persistent_workers = false;
    bool pin_memory = false;
    bool in_order = true;
    std::string start_method = {};
    std::string sampler_class = {};
};

/// Calls and summed length of one stage in this process, for tables shown while it
/// runs.
struct StageTotal {
    std::string stage;
    std::int64_t calls = 0;
    std::int64_t total_ns = 0;
};

struct CounterTotal {
    std::string counter;
    double total = 0;
};

/// What recording has to say about itself.
struct Health {
    std::filesystem::path file;       // empty until the first record was written
    std::int64_t recorded_count = 0;  // records written to the file
    /// Records that are not in the file one by one, as a buffer was full (or they were
    /// none: without a name, nested too deep, a NaN). Their sums are in the file, by
    /// path of stages and pass of the loader, and in `totals()` …
    std::int64_t dropped_count = 0;
    /// … but for these: what was no record, and what came while the database could not
    /// be written for so long that the room for sums ran out, too.
    std::int64_t unsummed_count = 0;
    bool degraded = false;     // something is not as it should be
    std::string last_problem;  // empty: none
};

/// An environment variable that children started by exec need.
struct EnvironmentVariable {
    std::string name;
    std::string value;
};

/// Options by METATRAIN_TIMING_DB; an empty `database` where it is not set.
Options options_from_environment() noexcept;

/// Turns recording on in this process. Idempotent; makes no file and no thread: both
/// come with the first record. Returns whether recording is on. Never throws; a problem
/// is said in one line on stderr, once per run.
///
/// The rank and the run's identity come from the environment (see docs/design.md, "Run
/// identity"); `fix_identity()` fixes them.
bool start(const Options& options) noexcept;

/// Whether recording is on. One relaxed load.
bool recording() noexcept;

/// Fixes the identity of the run, if nothing did yet, and puts it into the environment
/// (METATRAIN_TIMING_RUN) for the children to come. Call before starting a child that
/// may record; the first record does it too. Not safe against other threads that use
/// setenv/getenv at the same time, as nothing is.
void fix_identity() noexcept;

/// What `fix_identity()` put into the environment, for programs that keep a copy of
/// their own (Python's os.environ). Empty until the identity is fixed.
std::vector<EnvironmentVariable> environment_for_children() noexcept;

/// Uuid of the run, empty until the identity is fixed.
std::string run_uuid() noexcept;
/// Uuid of this process life; new after a fork.
std::string process_uuid() noexcept;

/// Describes this process; to be called before its first record. A process that says
/// nothing is `main` if it fixed the run's identity or is a rank, else `child`.
void set_process(const ProcessInfo& info) noexcept;

/// Names the calling thread's track; without it, it has the kernel's name of the
/// thread, or "MainThread". May come before or after the thread's first record.
void set_thread_name(std::string_view name) noexcept;

/// Notes a fact for the table `environment`; the last value of a key wins.
void set_fact(std::string_view key, std::string_view value) noexcept;

/// Notes a problem for the table `health`.
void note_problem(std::string_view code, std::string_view text) noexcept;

/// Announces a loader. `number` -1: the next one of this process; in a worker: the
/// number its owner gave. Returns the number. Numbers go on counting in the order of
/// calls.
std::int64_t define_loader(const LoaderInfo& info, std::int64_t number = -1) noexcept;

/// Announces a pass over loader `loader`; numbers as for loaders.
std::int64_t define_iterator(std::int64_t loader, std::int64_t epoch,
                             std::int64_t number = -1) noexcept;
/// Notes when somebody first waited for a batch of the pass, and that it evaluates.
void iterator_first_wait(std::int64_t iterator) noexcept;
/// Names the phase of a pass: "train", or the user's word.
void iterator_phase(std::int64_t iterator, std::string_view phase) noexcept;
void iterator_ended(std::int64_t iterator, bool exhausted) noexcept;

/// Writes everything recorded so far, of all threads, and returns when it is in the
/// file.
void flush() noexcept;

/// Ends recording: notes intervals that are still open, writes everything, marks the
/// process as ended cleanly, closes the file and lets go of its lock. Idempotent. Takes
/// some milliseconds, and a few seconds at most where the file cannot be written. A
/// program that ends by exit() or by returning from main() need not call it.
/// Recording can be started again afterwards (a new process row).
void stop() noexcept;

/// For a process that ends its children on purpose before it ends itself, as Python's
/// multiprocessing does: `save_children()` writes what children that are dead by now
/// had not written, as those were killed, and `stop_after_children()` is a `stop()`
/// that takes the children that died since then for cleanly ended. `stop()` alone takes
/// every child that did not end by itself for killed.
void save_children() noexcept;
void stop_after_children() noexcept;

/// Totals of this process since start or `reset_totals()`, all threads, all records so
/// far (it drains the rings first). Children and workers are not in it.
std::vector<StageTotal> totals() noexcept;
std::vector<CounterTotal> counter_totals() noexcept;
void reset_totals() noexcept;

Health health() noexcept;

/// CLOCK_MONOTONIC in nanoseconds, the time base of every record.
std::int64_t now_ns() noexcept;

}  // namespace metatrain_timing
