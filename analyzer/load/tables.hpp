#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/database.hpp"
#include "analyzer/model/run.hpp"

/// The small tables of one file as they are: rows with the ids of that file.
namespace metatrain_timing::analyzer {

struct RunRow {
    std::int64_t id = 0;
    std::string uuid;
    std::string job;
    std::optional<std::int64_t> attempt;
    std::int64_t started_unix_ns = 0;
    std::string command;
    std::string cwd;
    std::string host;
};

struct ProcessRow {
    std::int64_t id = 0;
    std::int64_t run_id = 0;
    std::optional<std::int64_t> loader_id;
    Process process;  // without loader, alive, tracks, clock, environment and health
};

struct LoaderRow {
    std::int64_t id = 0;
    std::int64_t process_id = 0;
    Loader loader;  // without process
};

struct IteratorRow {
    std::int64_t id = 0;
    std::int64_t loader_id = 0;
    bool has_phase = false;  // phase is not NULL
    Iterator iterator;       // without loader; phase as stored
};

struct TrackRow {
    std::int64_t id = 0;
    std::int64_t process_id = 0;
    std::int64_t tid = 0;
    std::string name;
    std::string kind;
};

struct NameRow {
    std::int64_t id = 0;
    std::string name;
};

struct ClockRow {
    std::int64_t process_id = 0;
    std::int64_t monotonic_ns = 0;
    std::int64_t unix_ns = 0;
};

struct CpuUsageRow {
    std::int64_t process_id = 0;
    std::optional<std::int64_t> track_id;
    CpuReading reading;
};

struct FactRow {
    std::int64_t process_id = 0;
    std::string key;
    std::string value;
};

struct HealthRow {
    std::int64_t process_id = 0;
    Warning warning;
};

/// All rows of the small tables, of every run in the file, in the order of their ids.
struct FileTables {
    std::vector<RunRow> runs;
    std::vector<ProcessRow> processes;
    std::vector<LoaderRow> loaders;
    std::vector<IteratorRow> iterators;
    std::vector<TrackRow> tracks;
    std::vector<NameRow> stages;
    std::vector<NameRow> counter_names;
    std::vector<ClockRow> first_clocks;  // the first of each process
    std::vector<CpuUsageRow> cpu_usage;  // in order of time
    std::vector<FactRow> environment;
    std::vector<HealthRow> health;
};

std::vector<RunRow> read_runs(const Database& db);
FileTables read_tables(const Database& db);

}  // namespace metatrain_timing::analyzer
