#include "analyzer/load/run_writer.hpp"

#include <array>
#include <cmath>
#include <map>
#include <metatrain_timing/schema/sql.hpp>
#include <metatrain_timing/version.hpp>
#include <optional>
#include <string_view>

namespace metatrain_timing::analyzer {
namespace {

void bind_text_or_null(Statement& statement, int parameter, const std::string& text) {
    if (text.empty()) {
        statement.bind(parameter, nullptr);
    } else {
        statement.bind(parameter, std::string_view(text));
    }
}

std::string_view role_name(Role role) {
    switch (role) {
        case Role::main:
            return "main";
        case Role::worker:
            return "worker";
        case Role::child:
            return "child";
    }
    return "child";
}

// A column of `in` as it is: an integer or NULL.
void bind_column(Statement& out, int parameter, const Statement& in, int column) {
    out.bind(parameter, in.maybe_integer(column));
}

// Inserts intervals fifty at a time, which is more than twice as fast.
class IntervalInserter {
  public:
    explicit IntervalInserter(const Database& out)
        : one_(out.prepare(schema::statement("insert_interval"))),
          fifty_(out.prepare(schema::statement("insert_interval_50"))) {}

    void add(const Statement& in, std::int32_t track, std::int32_t stage,
             std::optional<std::int64_t> iterator) {
        std::array<std::optional<std::int64_t>, kColumns>& row = rows_[row_count_];
        row = {track,
               stage,
               in.integer(2),
               in.integer(3),
               in.integer(4),
               in.maybe_integer(5),
               iterator,
               in.maybe_integer(7),
               in.maybe_integer(8)};
        if (++row_count_ == rows_.size()) {
            insert(fifty_, 0, rows_.size());
            row_count_ = 0;
        }
    }

    void finish() {
        for (std::size_t i = 0; i < row_count_; ++i) {
            insert(one_, i, i + 1);
        }
        row_count_ = 0;
    }

  private:
    static constexpr std::size_t kColumns = 9;

    void insert(Statement& statement, std::size_t begin, std::size_t end) {
        int parameter = 0;
        for (std::size_t i = begin; i < end; ++i) {
            for (const auto& value : rows_[i]) {
                statement.bind(++parameter, value);
            }
        }
        statement.run();
    }

    Statement one_;
    Statement fifty_;
    std::array<std::array<std::optional<std::int64_t>, kColumns>, 50> rows_{};
    std::size_t row_count_ = 0;
};

}  // namespace

void RunWriter::make_tables() {
    for (const schema::NamedSql& migration : schema::migrations()) {
        out_.execute(std::string(migration.sql));
    }
    Statement meta =
        out_.prepare("INSERT INTO meta (key, value) VALUES ('created_by', ?1)");
    meta.bind(1, "mt-analyze " + std::string(kVersion));
    meta.run();
}

void RunWriter::add_run(const RunRow& identity, const AssembledRun& assembled) {
    Statement run = out_.prepare(
        "INSERT INTO run (id, uuid, job, attempt, started_unix_ns, command, cwd, host)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    run.bind(1, std::int64_t{last_.run + 1});
    run.bind(2, identity.uuid);
    run.bind(3, identity.job);
    run.bind(4, identity.attempt);
    run.bind(5, identity.started_unix_ns);
    run.bind(6, identity.command);
    run.bind(7, identity.cwd);
    run.bind(8, identity.host);
    run.run();

    add_processes(assembled);
    add_loaders(assembled);
    add_iterators(assembled);
    add_tracks(assembled.run);
    add_names(assembled.run.stages, "INSERT INTO stage (id, name) VALUES (?1, ?2)",
              stages_);
    add_names(assembled.run.counter_names,
              "INSERT INTO counter_name (id, name) VALUES (?1, ?2)", counter_names_);
    map_ids(assembled);
    last_.run += 1;
    last_.process += static_cast<std::int32_t>(assembled.run.processes.size());
    last_.loader += static_cast<std::int32_t>(assembled.run.loaders.size());
    last_.iterator += static_cast<std::int32_t>(assembled.run.iterators.size());
    for (const Process& process : assembled.run.processes) {
        last_.track += static_cast<std::int32_t>(process.tracks.size());
    }
}

void RunWriter::add_processes(const AssembledRun& assembled) {
    Statement row = out_.prepare(
        "INSERT INTO process (id, run_id, uuid, parent_uuid, role, rank, world_size,"
        " worker_id, loader_id, pid, start_method, host, boot_id, started_ns, ended_ns,"
        " ending, dropped_count, unsummed_count)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
        "?16,"
        " ?17, ?18)");
    std::int64_t id = last_.process;
    for (const Process& process : assembled.run.processes) {
        row.bind(1, ++id);
        row.bind(2, std::int64_t{last_.run + 1});
        row.bind(3, process.uuid);
        bind_text_or_null(row, 4, process.parent_uuid);
        row.bind(5, role_name(process.role));
        row.bind(6, process.rank);
        row.bind(7, process.world_size);
        row.bind(8, process.worker_id);
        row.bind(9, process.loader < 0 ? std::nullopt
                                       : std::optional<std::int64_t>(last_.loader + 1 +
                                                                     process.loader));
        row.bind(10, process.pid);
        bind_text_or_null(row, 11, process.start_method);
        row.bind(12, process.host);
        row.bind(13, process.boot_id);
        row.bind(14, process.started_ns);
        row.bind(15, process.ended_ns);
        row.bind(16, process.ending);
        row.bind(17, process.dropped_count);
        row.bind(18, process.unsummed_count);
        row.run();
    }
}

void RunWriter::add_loaders(const AssembledRun& assembled) {
    Statement row = out_.prepare(
        "INSERT INTO loader (id, process_id, number, name, created_at, dataset_class,"
        " num_workers, batch_size, prefetch_factor, persistent_workers, pin_memory,"
        " in_order, start_method, sampler_class)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)");
    std::int64_t id = last_.loader;
    for (std::size_t i = 0; i < assembled.run.loaders.size(); ++i) {
        const Loader& loader = assembled.run.loaders[i];
        row.bind(1, ++id);
        row.bind(2, std::int64_t{last_.process + 1 + assembled.loader_writers[i]});
        row.bind(3, loader.number);
        row.bind(4, loader.name);
        bind_text_or_null(row, 5, loader.created_at);
        bind_text_or_null(row, 6, loader.dataset_class);
        row.bind(7, loader.num_workers);
        row.bind(8, loader.batch_size);
        row.bind(9, loader.prefetch_factor);
        row.bind(10, std::int64_t{loader.persistent_workers});
        row.bind(11, std::int64_t{loader.pin_memory});
        row.bind(12, std::int64_t{loader.in_order});
        bind_text_or_null(row, 13, loader.start_method);
        bind_text_or_null(row, 14, loader.sampler_class);
        row.run();
    }
}

void RunWriter::add_iterators(const AssembledRun& assembled) {
    Statement row = out_.prepare(
        "INSERT INTO iterator (id, loader_id, number, epoch, phase, started_ns,"
        " first_wait_ns, ended_ns, exhausted)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    std::int64_t id = last_.iterator;
    for (std::size_t i = 0; i < assembled.run.iterators.size(); ++i) {
        const Iterator& iterator = assembled.run.iterators[i];
        row.bind(1, ++id);
        row.bind(2, std::int64_t{last_.loader + 1 + iterator.loader});
        row.bind(3, iterator.number);
        row.bind(4, iterator.epoch);
        if (assembled.stored_phases[i]) {
            row.bind(5, *assembled.stored_phases[i]);
        } else {
            row.bind(5, nullptr);
        }
        row.bind(6, iterator.started_ns);
        row.bind(7, iterator.first_wait_ns);
        row.bind(8, iterator.ended_ns);
        row.bind(9, std::int64_t{iterator.exhausted});
        row.run();
    }
}

void RunWriter::add_tracks(const Run& run) {
    Statement row = out_.prepare(
        "INSERT INTO track (id, process_id, tid, name, kind) VALUES (?1, ?2, ?3, ?4, "
        "?5)");
    std::int64_t id = last_.track;
    std::int64_t process_id = last_.process;
    for (const Process& process : run.processes) {
        ++process_id;
        for (const Track& track : process.tracks) {
            row.bind(1, ++id);
            row.bind(2, process_id);
            row.bind(3, track.tid);
            row.bind(4, track.name);
            row.bind(5, track.kind);
            row.run();
        }
    }
}

void RunWriter::add_names(const std::vector<std::string>& names, const char* sql,
                          std::unordered_map<std::string, std::int32_t>& known) {
    Statement row = out_.prepare(sql);
    for (const std::string& name : names) {
        const auto id = static_cast<std::int32_t>(known.size() + 1);
        if (known.try_emplace(name, id).second) {
            row.bind(1, std::int64_t{id});
            row.bind(2, name);
            row.run();
        }
    }
}

void RunWriter::map_ids(const AssembledRun& assembled) {
    std::vector<std::int32_t> first_track;  // of each process
    std::int32_t track = last_.track + 1;
    for (const Process& process : assembled.run.processes) {
        first_track.push_back(track);
        track += static_cast<std::int32_t>(process.tracks.size());
    }
    // What one run does not want another may: only then the id is unwanted.
    const auto put = [](IdMap& ids, std::int64_t id, std::int32_t index,
                        std::int32_t new_id) {
        if (index >= 0) {
            ids.insert(id, new_id);
        } else if (ids.find(id) == IdMap::kMissing) {
            ids.insert(id, IdMap::kUnwanted);
        }
    };
    for (std::size_t file = 0; file < ids_.size(); ++file) {
        const FileIds& from = assembled.files[file];
        Ids& to = ids_[file];
        from.processes.for_each([&](std::int64_t id, std::int32_t index) {
            put(to.processes, id, index, last_.process + 1 + index);
        });
        from.iterators.for_each([&](std::int64_t id, std::int32_t index) {
            put(to.iterators, id, index, last_.iterator + 1 + index);
        });
        from.tracks.for_each([&](std::int64_t id, std::int32_t index) {
            std::int32_t new_id = 0;
            if (index >= 0) {
                const auto& target =
                    from.track_targets[static_cast<std::size_t>(index)];
                new_id = first_track[target.process] +
                         static_cast<std::int32_t>(target.track);
            }
            put(to.tracks, id, index, new_id);
        });
        from.stages.for_each([&](std::int64_t id, std::int32_t index) {
            to.stages.insert(
                id, stages_.at(assembled.run.stages[static_cast<std::size_t>(index)]));
        });
        from.counter_names.for_each([&](std::int64_t id, std::int32_t index) {
            to.counter_names.insert(
                id, counter_names_.at(
                        assembled.run.counter_names[static_cast<std::size_t>(index)]));
        });
    }
}

void RunWriter::copy_rows(const Database& in, std::size_t index) {
    const Ids& ids = ids_[index];
    copy_process_rows(in, ids);
    copy_cpu_usage(in, ids);
    copy_intervals(in, ids);
    copy_open_intervals(in, ids);
    copy_counters(in, ids);
    copy_interval_totals(in, ids);
    copy_counter_totals(in, ids);
}

void RunWriter::copy_process_rows(const Database& in, const Ids& ids) {
    const auto wanted = [&](std::int64_t process_id) {
        const std::int32_t id = ids.processes.find(process_id);
        skipped_count_ += id == IdMap::kMissing ? 1 : 0;
        return id;
    };
    Statement clock = in.prepare(
        "SELECT process_id, monotonic_ns, unix_ns FROM main.clock NOT INDEXED"
        " ORDER BY id");
    Statement new_clock = out_.prepare(
        "INSERT INTO clock (process_id, monotonic_ns, unix_ns) VALUES (?1, ?2, ?3)");
    while (clock.step()) {
        if (const std::int32_t id = wanted(clock.integer(0)); id >= 0) {
            new_clock.bind(1, std::int64_t{id});
            new_clock.bind(2, clock.integer(1));
            new_clock.bind(3, clock.integer(2));
            new_clock.run();
        }
    }
    Statement fact =
        in.prepare("SELECT process_id, key, value FROM main.environment NOT INDEXED");
    Statement new_fact = out_.prepare(
        "INSERT OR IGNORE INTO environment (process_id, key, value) VALUES (?1, ?2, "
        "?3)");
    while (fact.step()) {
        if (const std::int32_t id = wanted(fact.integer(0)); id >= 0) {
            new_fact.bind(1, std::int64_t{id});
            new_fact.bind(2, fact.text(1));
            new_fact.bind(3, fact.text(2));
            new_fact.run();
        }
    }
    Statement health = in.prepare(
        "SELECT process_id, at_ns, code, text FROM main.health NOT INDEXED ORDER BY "
        "id");
    Statement new_health = out_.prepare(
        "INSERT INTO health (process_id, at_ns, code, text) VALUES (?1, ?2, ?3, ?4)");
    while (health.step()) {
        if (const std::int32_t id = wanted(health.integer(0)); id >= 0) {
            new_health.bind(1, std::int64_t{id});
            new_health.bind(2, health.integer(1));
            new_health.bind(3, health.text(2));
            new_health.bind(4, health.text(3));
            new_health.run();
        }
    }
}

void RunWriter::copy_cpu_usage(const Database& in, const Ids& ids) {
    Statement usage = in.prepare(
        "SELECT process_id, track_id, at_ns, cpu_ns, queued_ns"
        " FROM main.cpu_usage NOT INDEXED ORDER BY id");
    Statement new_usage = out_.prepare(
        "INSERT INTO cpu_usage (process_id, track_id, at_ns, cpu_ns, queued_ns)"
        " VALUES (?1, ?2, ?3, ?4, ?5)");
    while (usage.step()) {
        const std::int32_t process = ids.processes.find(usage.integer(0));
        skipped_count_ += process == IdMap::kMissing ? 1 : 0;
        std::optional<std::int64_t> track = usage.maybe_integer(1);
        if (track) {
            track = ids.tracks.find(*track);
            skipped_count_ += *track == IdMap::kMissing ? 1 : 0;
        }
        if (process >= 0 && track.value_or(0) >= 0) {
            new_usage.bind(1, std::int64_t{process});
            new_usage.bind(2, track);
            new_usage.bind(3, usage.integer(2));
            new_usage.bind(4, usage.integer(3));
            new_usage.bind(5, usage.maybe_integer(4));
            new_usage.run();
        }
    }
}

namespace {

// The new ids of a row of a large table; `track` < 0 where the row is not to be copied.
struct RowIds {
    std::int32_t track = IdMap::kUnwanted;
    std::int32_t name = 0;
    std::optional<std::int64_t> iterator;
};

RowIds row_ids(const Statement& row, int iterator_column, const IdMap& tracks,
               const IdMap& names, const IdMap& iterators, std::int64_t& skipped) {
    RowIds ids;
    ids.track = tracks.find(row.integer(0));
    if (ids.track == IdMap::kUnwanted) {
        return ids;
    }
    ids.name = names.find(row.integer(1));
    ids.iterator = row.maybe_integer(iterator_column);
    if (ids.iterator) {
        ids.iterator = iterators.find(*ids.iterator);
    }
    if (ids.track < 0 || ids.name < 0 || ids.iterator.value_or(0) < 0) {
        ids.track = IdMap::kMissing;
        ++skipped;
    }
    return ids;
}

}  // namespace

void RunWriter::copy_intervals(const Database& in, const Ids& ids) {
    Statement row = in.prepare(
        "SELECT track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id, batch,"
        " cpu_ns FROM main.interval NOT INDEXED ORDER BY id");
    IntervalInserter inserter(out_);
    while (row.step()) {
        const RowIds to =
            row_ids(row, 6, ids.tracks, ids.stages, ids.iterators, skipped_count_);
        if (to.track >= 0) {
            inserter.add(row, to.track, to.name, to.iterator);
        }
    }
    inserter.finish();
}

void RunWriter::copy_open_intervals(const Database& in, const Ids& ids) {
    Statement row = in.prepare(
        "SELECT track_id, stage_id, start_ns, depth, step, iterator_id, batch"
        " FROM main.open_interval NOT INDEXED ORDER BY id");
    Statement out = out_.prepare(
        "INSERT INTO open_interval (track_id, stage_id, start_ns, depth, step,"
        " iterator_id, batch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    while (row.step()) {
        const RowIds to =
            row_ids(row, 5, ids.tracks, ids.stages, ids.iterators, skipped_count_);
        if (to.track >= 0) {
            out.bind(1, std::int64_t{to.track});
            out.bind(2, std::int64_t{to.name});
            out.bind(3, row.integer(2));
            out.bind(4, row.integer(3));
            bind_column(out, 5, row, 4);
            out.bind(6, to.iterator);
            bind_column(out, 7, row, 6);
            out.run();
        }
    }
}

void RunWriter::copy_counters(const Database& in, const Ids& ids) {
    Statement row = in.prepare(
        "SELECT track_id, name_id, at_ns, value, step, iterator_id, batch"
        " FROM main.counter NOT INDEXED ORDER BY id");
    Statement out = out_.prepare(schema::statement("insert_counter"));
    while (row.step()) {
        const RowIds to = row_ids(row, 5, ids.tracks, ids.counter_names, ids.iterators,
                                  skipped_count_);
        if (to.track >= 0 && !std::isfinite(row.real(3))) {
            ++skipped_count_;
        } else if (to.track >= 0) {
            out.bind(1, std::int64_t{to.track});
            out.bind(2, std::int64_t{to.name});
            out.bind(3, row.integer(2));
            out.bind(4, row.real(3));
            bind_column(out, 5, row, 4);
            out.bind(6, to.iterator);
            bind_column(out, 7, row, 6);
            out.run();
        }
    }
}

// A parent has a smaller id than its parts, so it is copied before them.
void RunWriter::copy_interval_totals(const Database& in, const Ids& ids) {
    Statement row = in.prepare(
        "SELECT track_id, stage_id, id, parent_id, iterator_id, calls, total_ns, "
        "cpu_ns,"
        " cpu_wall_ns, first_ns, last_ns, node FROM main.interval_total NOT INDEXED"
        " ORDER BY id");
    Statement out = out_.prepare(schema::statement("upsert_interval_total"));
    std::map<std::int64_t, std::int64_t> copies;
    while (row.step()) {
        const RowIds to =
            row_ids(row, 4, ids.tracks, ids.stages, ids.iterators, skipped_count_);
        const auto parent_id = row.maybe_integer(3);
        const auto parent = copies.find(parent_id.value_or(0));
        if (to.track < 0 || (parent_id && parent == copies.end())) {
            continue;
        }
        out.bind(1, std::int64_t{to.track});
        out.bind(2, parent_id ? std::optional(parent->second) : std::nullopt);
        out.bind(3, std::int64_t{to.name});
        out.bind(4, to.iterator);
        for (int column = 5; column < 12; ++column) {
            bind_column(out, column, row, column);
        }
        out.step();
        copies[row.integer(2)] = out.integer(0);
        out.reset();
    }
}

void RunWriter::copy_counter_totals(const Database& in, const Ids& ids) {
    Statement row = in.prepare(
        "SELECT track_id, name_id, iterator_id, calls, value, node"
        " FROM main.counter_total NOT INDEXED ORDER BY id");
    Statement out = out_.prepare(schema::statement("upsert_counter_total"));
    while (row.step()) {
        const RowIds to = row_ids(row, 2, ids.tracks, ids.counter_names, ids.iterators,
                                  skipped_count_);
        if (to.track >= 0 && std::isfinite(row.real(4))) {
            out.bind(1, std::int64_t{to.track});
            out.bind(2, std::int64_t{to.name});
            out.bind(3, to.iterator);
            out.bind(4, row.integer(3));
            out.bind(5, row.real(4));
            out.bind(6, row.maybe_integer(5));
            out.run();
        }
    }
}

void RunWriter::add_views() {
    for (const schema::NamedSql& view : schema::views()) {
        out_.execute(std::string(view.sql));
    }
}

}  // namespace metatrain_timing::analyzer
