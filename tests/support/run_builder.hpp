#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <filesystem>
#include <metatrain_timing/schema/sql.hpp>
#include <optional>
#include <string>

namespace metatrain_timing::test {

using Id = std::int64_t;
using MaybeId = std::optional<std::int64_t>;

/// Columns of `process` that tests care about.
struct ProcessSpec {
    std::string uuid = "main-0";
    std::string parent_uuid = "";
    std::string role = "main";
    std::int64_t rank = 0;
    MaybeId worker_id = std::nullopt;
    std::int64_t started_ns = 0;
    MaybeId ended_ns = std::nullopt;
    std::string ending = "unknown";
    std::int64_t dropped_count = 0;
    std::int64_t unsummed_count = 0;
};

/// Columns of `loader`, and who writes the row.
struct LoaderSpec {
    Id process = 0;
    std::int64_t number = 1;
    std::string name = "train";
    std::int64_t num_workers = 0;
};

/// Columns of `iterator`; no phase: NULL.
struct IteratorSpec {
    Id loader = 0;
    std::int64_t number = 1;
    std::int64_t epoch = 0;
    std::optional<std::string> phase = std::nullopt;
    std::int64_t started_ns = 0;
    MaybeId first_wait_ns = std::nullopt;
    MaybeId ended_ns = std::nullopt;
};

/// Columns of `interval` that may be NULL, and depth.
struct IntervalSpec {
    std::int64_t depth = 0;
    MaybeId iterator = std::nullopt;
    MaybeId batch = std::nullopt;
    MaybeId step = std::nullopt;
    MaybeId cpu_ns = std::nullopt;
};

/// A run file as a recorder would leave it, made row by row. Functions return row ids.
///
///     RunBuilder file(folder / "run.db");
///     const Id track = file.track(file.process(file.run("run-1"), {.uuid =
///     "main-0"})); file.interval(track, "step", 100, 50, {.step = 0});
class RunBuilder {
  public:
    /// A file with all tables and views, or the existing one at `path`.
    explicit RunBuilder(const std::filesystem::path& path)
        : path_(path), db_(open(path)) {}

    const std::filesystem::path& path() const { return path_; }

    Id run(const std::string& uuid, std::int64_t started_unix_ns = 1'000'000'000,
           MaybeId attempt = 1) {
        return insert(
            "INSERT INTO run (uuid, attempt, started_unix_ns, job, command, cwd, host)"
            " VALUES (?, ?, ?, 'job', 'python train.py', '/home', 'host')",
            uuid, attempt, started_unix_ns);
    }

    Id process(Id run, const ProcessSpec& spec = {}) {
        return insert(
            "INSERT INTO process (run_id, uuid, parent_uuid, role, rank, worker_id,"
            " started_ns, ended_ns, ending, dropped_count, unsummed_count, pid, host, "
            "boot_id)"
            " VALUES (?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, 7, 'host', 'boot')",
            run, spec.uuid, spec.parent_uuid, spec.role, spec.rank, spec.worker_id,
            spec.started_ns, spec.ended_ns, spec.ending, spec.dropped_count,
            spec.unsummed_count);
    }

    /// The process, a worker, works for this loader.
    void serves(Id process, Id loader) {
        insert("UPDATE process SET loader_id = ?2 WHERE id = ?1", process, loader);
    }

    Id loader(const LoaderSpec& spec) {
        return insert(
            "INSERT INTO loader (process_id, number, name, num_workers)"
            " VALUES (?, ?, ?, ?)",
            spec.process, spec.number, spec.name, spec.num_workers);
    }

    Id iterator(const IteratorSpec& spec) {
        return insert(
            "INSERT INTO iterator (loader_id, number, epoch, phase, started_ns,"
            " first_wait_ns, ended_ns, exhausted)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 1)",
            spec.loader, spec.number, spec.epoch, spec.phase, spec.started_ns,
            spec.first_wait_ns, spec.ended_ns);
    }

    Id track(Id process, const std::string& name = "MainThread") {
        return insert("INSERT INTO track (process_id, tid, name) VALUES (?, 7, ?)",
                      process, name);
    }

    Id stage(const std::string& name) {
        insert("INSERT OR IGNORE INTO stage (name) VALUES (?)", name);
        return number("SELECT id FROM stage WHERE name = ?", name);
    }

    Id interval(Id track, const std::string& stage_name, std::int64_t start_ns,
                std::int64_t dur_ns, const IntervalSpec& spec = {}) {
        return insert(
            "INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, step,"
            " iterator_id, batch, cpu_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            track, stage(stage_name), start_ns, dur_ns, spec.depth, spec.step,
            spec.iterator, spec.batch, spec.cpu_ns);
    }

    Id open_interval(Id track, const std::string& stage_name, std::int64_t start_ns,
                     const IntervalSpec& spec = {}) {
        return insert(
            "INSERT INTO open_interval (track_id, stage_id, start_ns, depth, step,"
            " iterator_id, batch) VALUES (?, ?, ?, ?, ?, ?, ?)",
            track, stage(stage_name), start_ns, spec.depth, spec.step, spec.iterator,
            spec.batch);
    }

    Id counter(Id track, const std::string& name, std::int64_t at_ns, double value,
               const IntervalSpec& spec = {}) {
        insert("INSERT OR IGNORE INTO counter_name (name) VALUES (?)", name);
        return insert(
            "INSERT INTO counter (track_id, name_id, at_ns, value, step, iterator_id,"
            " batch) VALUES (?, ?, ?, ?, ?, ?, ?)",
            track, number("SELECT id FROM counter_name WHERE name = ?", name), at_ns,
            value, spec.step, spec.iterator, spec.batch);
    }

    Id clock(Id process, std::int64_t monotonic_ns, std::int64_t unix_ns) {
        return insert(
            "INSERT INTO clock (process_id, monotonic_ns, unix_ns) VALUES (?, ?, ?)",
            process, monotonic_ns, unix_ns);
    }

    /// Without `track`: of the whole process.
    Id cpu_usage(Id process, MaybeId track, std::int64_t at_ns, std::int64_t cpu_ns,
                 MaybeId queued_ns) {
        return insert(
            "INSERT INTO cpu_usage (process_id, track_id, at_ns, cpu_ns, queued_ns)"
            " VALUES (?, ?, ?, ?, ?)",
            process, track, at_ns, cpu_ns, queued_ns);
    }

    Id health(Id process, const std::string& code, const std::string& text) {
        return insert(
            "INSERT INTO health (process_id, at_ns, code, text) VALUES (?, 5, ?, ?)",
            process, code, text);
    }

    void fact(Id process, const std::string& key, const std::string& value) {
        insert("INSERT INTO environment (process_id, key, value) VALUES (?, ?, ?)",
               process, key, value);
    }

    /// Whatever else a test wants to do to the file.
    void execute(const std::string& sql) { db_.exec(sql); }

  private:
    static SQLite::Database open(const std::filesystem::path& path) {
        std::filesystem::create_directories(path.parent_path());
        const bool exists = std::filesystem::exists(path);
        SQLite::Database db(path.string(),
                            SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        db.exec("PRAGMA synchronous = OFF");
        if (!exists) {
            for (const schema::NamedSql& migration : schema::migrations()) {
                db.exec(std::string(migration.sql));
            }
            for (const schema::NamedSql& view : schema::views()) {
                db.exec(std::string(view.sql));
            }
        }
        return db;
    }

    template <typename Value>
    static void bind(SQLite::Statement& statement, int index, const Value& value) {
        statement.bind(index, value);
    }
    template <typename Value>
    static void bind(SQLite::Statement& statement, int index,
                     const std::optional<Value>& value) {
        if (value) {
            statement.bind(index, *value);
        } else {
            statement.bind(index);
        }
    }

    template <typename... Values>
    Id insert(const char* sql, const Values&... values) {
        SQLite::Statement statement(db_, sql);
        int index = 0;
        (bind(statement, ++index, values), ...);
        statement.exec();
        return db_.getLastInsertRowid();
    }

    Id number(const char* sql, const std::string& name) {
        SQLite::Statement statement(db_, sql);
        statement.bind(1, name);
        statement.executeStep();
        return statement.getColumn(0).getInt64();
    }

    std::filesystem::path path_;
    SQLite::Database db_;
};

}  // namespace metatrain_timing::test
