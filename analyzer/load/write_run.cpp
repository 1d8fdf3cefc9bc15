#include "analyzer/load/write_run.hpp"

#include <metatrain_timing/schema/sql.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/database.hpp"
#include "analyzer/load/partial_file.hpp"
#include "analyzer/load/run_writer.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::optional<std::int64_t> known(std::int64_t value) {
    return value < 0 ? std::nullopt : std::optional(value);
}

// Ids of rows are positions, from 1, as RunWriter gives them.
std::optional<std::int64_t> id_of(std::int32_t index) {
    return index < 0 ? std::nullopt : std::optional<std::int64_t>(index + 1);
}

class RowWriter {
  public:
    explicit RowWriter(const Database& out)
        : out_(out),
          interval_(out.prepare(schema::statement("insert_interval"))),
          open_(out.prepare(
              "INSERT INTO open_interval (track_id, stage_id, start_ns, depth, step,"
              " iterator_id, batch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")),
          counter_(out.prepare(
              "INSERT INTO counter (track_id, name_id, at_ns, value, step, iterator_id,"
              " batch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")),
          usage_(out.prepare(
              "INSERT INTO cpu_usage (process_id, track_id, at_ns, cpu_ns, queued_ns)"
              " VALUES (?1, ?2, ?3, ?4, ?5)")) {}

    void add(const Process& process, const std::vector<Track>& tracks,
             std::int64_t process_id) {
        add_facts(process, process_id);
        add_usage(process.cpu_usage, process_id, std::nullopt);
        for (const Track& track : tracks) {
            ++track_id_;
            add_usage(track.cpu_usage, process_id, track_id_);
            for (std::size_t i = 0; i < track.intervals.size(); ++i) {
                add(track.intervals[i],
                    track.cpu_ns.empty() ? std::nullopt : known(track.cpu_ns[i]));
            }
            for (const Interval& interval : track.open) {
                add_open(interval);
            }
            for (const Counter& counter : track.counters) {
                add(counter);
            }
        }
    }

  private:
    void add_facts(const Process& process, std::int64_t process_id) {
        Statement clock = out_.prepare(
            "INSERT INTO clock (process_id, monotonic_ns, unix_ns) VALUES (?1, ?2, "
            "?3)");
        clock.bind(1, process_id);
        clock.bind(2, process.started_ns);
        clock.bind(3, process.started_ns + process.clock_offset_ns);
        clock.run();
        Statement fact = out_.prepare(
            "INSERT INTO environment (process_id, key, value) VALUES (?1, ?2, ?3)");
        for (const auto& [key, value] : process.environment) {
            fact.bind(1, process_id);
            fact.bind(2, std::string_view(key));
            fact.bind(3, std::string_view(value));
            fact.run();
        }
        Statement health = out_.prepare(
            "INSERT INTO health (process_id, at_ns, code, text) VALUES (?1, ?2, ?3, "
            "?4)");
        for (const Warning& problem : process.health) {
            health.bind(1, process_id);
            health.bind(2, process.started_ns);
            health.bind(3, std::string_view(problem.code));
            health.bind(4, std::string_view(problem.text));
            health.run();
        }
    }

    void add_usage(const std::vector<CpuReading>& readings, std::int64_t process_id,
                   std::optional<std::int64_t> track_id) {
        for (const CpuReading& reading : readings) {
            usage_.bind(1, process_id);
            usage_.bind(2, track_id);
            usage_.bind(3, reading.at_ns);
            usage_.bind(4, reading.cpu_ns);
            usage_.bind(5, known(reading.queued_ns));
            usage_.run();
        }
    }

    void add(const Interval& interval, std::optional<std::int64_t> cpu_ns) {
        interval_.bind(1, track_id_);
        interval_.bind(2, std::int64_t{interval.stage} + 1);
        interval_.bind(3, interval.start_ns);
        interval_.bind(4, interval.dur_ns);
        interval_.bind(5, std::int64_t{interval.depth});
        interval_.bind(6, known(interval.step));
        interval_.bind(7, id_of(interval.iterator));
        interval_.bind(8, known(interval.batch));
        interval_.bind(9, cpu_ns);
        interval_.run();
    }

    void add_open(const Interval& interval) {
        open_.bind(1, track_id_);
        open_.bind(2, std::int64_t{interval.stage} + 1);
        open_.bind(3, interval.start_ns);
        open_.bind(4, std::int64_t{interval.depth});
        open_.bind(5, known(interval.step));
        open_.bind(6, id_of(interval.iterator));
        open_.bind(7, known(interval.batch));
        open_.run();
    }

    void add(const Counter& counter) {
        counter_.bind(1, track_id_);
        counter_.bind(2, std::int64_t{counter.name} + 1);
        counter_.bind(3, counter.at_ns);
        counter_.bind(4, counter.value);
        counter_.bind(5, known(counter.step));
        counter_.bind(6, id_of(counter.iterator));
        counter_.bind(7, known(counter.batch));
        counter_.run();
    }

    const Database& out_;
    Statement interval_;
    Statement open_;
    Statement counter_;
    Statement usage_;
    std::int64_t track_id_ = 0;
};

// The threads of each process, with all their rows; names stay behind.
std::vector<std::vector<Track>> take_tracks(Run& run) {
    std::vector<std::vector<Track>> taken;
    for (Process& process : run.processes) {
        taken.push_back(std::move(process.tracks));
        process.tracks.clear();
        for (const Track& track : taken.back()) {
            Track& name = process.tracks.emplace_back();
            name.tid = track.tid;
            name.name = track.name;
            name.kind = track.kind;
        }
    }
    return taken;
}

RunRow identity_of(const Run& run) {
    RunRow row;
    row.uuid = run.uuid;
    row.job = run.job;
    row.attempt = run.attempt;
    row.started_unix_ns = run.started_unix_ns;
    row.command = run.command;
    row.cwd = run.cwd;
    row.host = run.host;
    return row;
}

// As RunWriter wants it: a phase that nobody named is none.
AssembledRun assembled(Run run) {
    AssembledRun assembled;
    for (const Iterator& iterator : run.iterators) {
        const bool is_named = iterator.phase != "unused" && iterator.phase != "unknown";
        assembled.stored_phases.push_back(is_named ? std::optional(iterator.phase)
                                                   : std::nullopt);
    }
    for (const Loader& loader : run.loaders) {
        assembled.loader_writers.push_back(loader.process);
    }
    assembled.run = std::move(run);
    return assembled;
}

}  // namespace

void write_run(Run run, const std::string& path) {
    PartialFile partial(path);
    const std::vector<std::vector<Track>> tracks = take_tracks(run);
    const RunRow identity = identity_of(run);
    const AssembledRun small = assembled(std::move(run));
    {
        const Database out = Database::open_writable(partial.name());
        out.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;");
        RunWriter writer(out, 0);
        writer.make_tables();
        writer.add_run(identity, small);
        RowWriter rows(out);
        for (std::size_t i = 0; i < tracks.size(); ++i) {
            rows.add(small.run.processes[i], tracks[i],
                     static_cast<std::int64_t>(i) + 1);
        }
        writer.add_views();
        out.execute("COMMIT; PRAGMA journal_mode = DELETE;");
    }
    partial.make_durable();
    partial.become_new(path);
}

}  // namespace metatrain_timing::analyzer
