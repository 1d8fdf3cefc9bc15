#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace metatrain_timing::analyzer {

/// A note for the user: printed to stderr and put into JSON `warnings`.
struct Warning {
    std::string code;  // e.g. "worker_files_missing"
    std::string text;  // one sentence: what, and what to do
};

/// A file that was considered, and why it was not read if it was not.
struct FileStatus {
    std::string path;
    bool read = false;
    std::string reason;  // empty when read without trouble
};

/// One interval; see the table `interval`. 32 bytes, so that 12 million fit in 400 MB.
struct Interval {
    std::int64_t start_ns = 0;
    std::int64_t dur_ns = 0;
    std::int32_t step = -1;      // -1: unknown
    std::int32_t iterator = -1;  // index into Run::iterators, -1: none
    std::int32_t batch = -1;     // -1: none
    std::uint16_t stage = 0;     // index into Run::stages
    std::uint16_t depth = 0;

    std::int64_t end_ns() const { return start_ns + dur_ns; }
};

struct Counter {
    std::int64_t at_ns = 0;
    double value = 0;
    std::int32_t step = -1;
    std::int32_t iterator = -1;  // index into Run::iterators
    std::int32_t batch = -1;
    std::uint16_t name = 0;  // index into Run::counter_names
};

/// Sums of intervals that are not on record one by one: the run passed its size limit,
/// or a buffer was full. Exact; see the table `interval_total`.
struct IntervalTotal {
    std::int32_t parent = -1;    // index into Track::totals, below its own; -1: none
    std::int32_t iterator = -1;  // index into Run::iterators, -1: none
    std::uint16_t stage = 0;     // index into Run::stages
    std::int64_t calls = 0;      // 0: only parts of theirs are here
    std::int64_t total_ns = 0;
    std::int64_t cpu_ns = -1;  // -1: not measured
    std::int64_t cpu_wall_ns = 0;
    std::int64_t first_ns = 0;  // begin of the first, where there are calls
    std::int64_t last_ns = 0;   // end of the last
};

/// Sums of counted values that are not on record one by one.
struct CounterTotal {
    std::int32_t iterator = -1;  // index into Run::iterators, -1: none
    std::uint16_t name = 0;      // index into Run::counter_names
    double value = 0;
};

/// What a process or one of its threads had used of the CPUs by an instant; see the
/// table `cpu_usage`.
struct CpuReading {
    std::int64_t at_ns = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t queued_ns = -1;  // could have run and had no CPU; -1: unknown
};

/// A thread of a process. `intervals` are sorted by start_ns, a parent before its
/// children, and nest properly; load/ checks it.
struct Track {
    std::int64_t tid = 0;
    std::string name;
    std::string kind;  // "cpu" or "cuda"
    std::vector<Interval> intervals;
    std::vector<std::int64_t>
        cpu_ns;                  // parallel to intervals, -1: not measured; or empty
    std::vector<Interval> open;  // still open at the end: dur_ns is 0
    std::vector<Counter> counters;
    std::vector<IntervalTotal> totals;  // a tree; no two nodes are the same
    std::vector<CounterTotal> counter_totals;
    std::vector<CpuReading> cpu_usage;  // in order of time
};

enum class Role : std::uint8_t { main, worker, child };

/// One process life; see the table `process`.
struct Process {
    std::string uuid;
    std::string parent_uuid;
    Role role = Role::main;
    std::int64_t rank = 0;
    std::int64_t world_size = 1;
    std::optional<std::int64_t> worker_id;
    std::int32_t loader = -1;  // index into Run::loaders, -1: none
    std::int64_t pid = 0;
    std::string start_method;
    std::string host;
    std::string boot_id;
    std::int64_t started_ns = 0;
    std::optional<std::int64_t> ended_ns;
    std::string ending;                 // "clean", "killed", "unknown"
    bool alive = false;                 // recording right now, as far as its lock tells
    std::int64_t dropped_count = 0;     // records whose sums alone are there
    std::int64_t unsummed_count = 0;    // of those, not even that
    std::int64_t clock_offset_ns = 0;   // Unix time minus monotonic time
    std::vector<CpuReading> cpu_usage;  // of all its threads, in order of time
    std::vector<Track> tracks;
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<Warning> health;
};

/// A loader of one owner process (workers' copies are folded in); see the table
/// `loader`.
struct Loader {
    std::int32_t process =
        -1;  // index into Run::processes of the owner, -1: not recorded
    std::int64_t number = 0;
    std::string name;
    std::string created_at;
    std::string dataset_class;
    std::int64_t num_workers = 0;
    std::optional<std::int64_t> batch_size;
    std::optional<std::int64_t> prefetch_factor;
    bool persistent_workers = false;
    bool pin_memory = false;
    bool in_order = true;
    std::string start_method;
    std::string sampler_class;
};

/// One pass over a loader; see the table `iterator`.
struct Iterator {
    std::int32_t loader = -1;  // index into Run::loaders
    std::int64_t number = 0;
    std::int64_t epoch = 0;
    std::string phase;  // as the view `_iterator` resolves it: "train", "unused", ...
    std::int64_t started_ns = 0;
    std::optional<std::int64_t> first_wait_ns;
    std::optional<std::int64_t> ended_ns;
    bool exhausted = false;
};

/// One run: everything its files hold, merged. Plain data, no I/O.
struct Run {
    std::string uuid;
    std::string job;
    std::int64_t attempt = 1;
    std::int64_t started_unix_ns = 0;
    std::string command;
    std::string cwd;
    std::string host;
    std::vector<FileStatus> files;
    std::vector<Process> processes;
    std::vector<Loader> loaders;
    std::vector<Iterator> iterators;
    std::vector<std::string> stages;
    std::vector<std::string> counter_names;
    std::vector<Warning> warnings;  // of loading
};

}  // namespace metatrain_timing::analyzer
