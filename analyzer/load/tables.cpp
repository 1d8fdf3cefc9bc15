#include "analyzer/load/tables.hpp"

#include <string_view>

namespace metatrain_timing::analyzer {
namespace {

// NOT INDEXED: an index in a file may lie about its table.
template <typename Row, typename Read>
std::vector<Row> read_rows(const Database& db, std::string_view sql, Read read) {
    std::vector<Row> rows;
    Statement statement = db.prepare(sql);
    while (statement.step()) {
        rows.push_back(read(statement));
    }
    return rows;
}

Role role_of(const std::string& name) {
    if (name == "worker") {
        return Role::worker;
    }
    return name == "main" ? Role::main : Role::child;
}

ProcessRow read_process(const Statement& row) {
    ProcessRow read;
    read.id = row.integer(0);
    read.run_id = row.integer(1);
    read.loader_id = row.maybe_integer(8);
    Process& process = read.process;
    process.uuid = row.text(2);
    process.parent_uuid = row.text(3);
    process.role = role_of(row.text(4));
    process.rank = row.integer(5);
    process.world_size = row.integer(6);
    process.worker_id = row.maybe_integer(7);
    process.pid = row.integer(9);
    process.start_method = row.text(10);
    process.host = row.text(11);
    process.boot_id = row.text(12);
    process.started_ns = row.integer(13);
    process.ended_ns = row.maybe_integer(14);
    process.ending = row.text(15);
    process.dropped_count = row.integer(16);
    process.unsummed_count = row.integer(17);
    return read;
}

LoaderRow read_loader(const Statement& row) {
    LoaderRow read;
    read.id = row.integer(0);
    read.process_id = row.integer(1);
    Loader& loader = read.loader;
    loader.number = row.integer(2);
    loader.name = row.text(3);
    loader.created_at = row.text(4);
    loader.dataset_class = row.text(5);
    loader.num_workers = row.integer(6);
    loader.batch_size = row.maybe_integer(7);
    loader.prefetch_factor = row.maybe_integer(8);
    loader.persistent_workers = row.integer(9) != 0;
    loader.pin_memory = row.integer(10) != 0;
    loader.in_order = row.integer(11) != 0;
    loader.start_method = row.text(12);
    loader.sampler_class = row.text(13);
    return read;
}

IteratorRow read_iterator(const Statement& row) {
    IteratorRow read;
    read.id = row.integer(0);
    read.loader_id = row.integer(1);
    read.has_phase = !row.is_null(4);
    Iterator& iterator = read.iterator;
    iterator.number = row.integer(2);
    iterator.epoch = row.integer(3);
    iterator.phase = row.text(4);
    iterator.started_ns = row.integer(5);
    iterator.first_wait_ns = row.maybe_integer(6);
    iterator.ended_ns = row.maybe_integer(7);
    iterator.exhausted = row.integer(8) != 0;
    return read;
}

NameRow read_name(const Statement& row) {
    return {row.integer(0), row.text(1)};
}

std::vector<ClockRow> read_first_clocks(const Database& db) {
    std::vector<ClockRow> clocks;
    Statement row = db.prepare(
        "SELECT process_id, monotonic_ns, unix_ns FROM main.clock NOT INDEXED"
        " WHERE id IN (SELECT min(id) FROM main.clock NOT INDEXED GROUP BY "
        "process_id)");
    while (row.step()) {
        clocks.push_back({row.integer(0), row.integer(1), row.integer(2)});
    }
    return clocks;
}

}  // namespace

std::vector<RunRow> read_runs(const Database& db) {
    return read_rows<RunRow>(
        db,
        "SELECT id, uuid, job, attempt, started_unix_ns, command, cwd, host"
        " FROM main.run NOT INDEXED ORDER BY id",
        [](const Statement& row) {
            return RunRow{row.integer(0),       row.text(1),    row.text(2),
                          row.maybe_integer(3), row.integer(4), row.text(5),
                          row.text(6),          row.text(7)};
        });
}

FileTables read_tables(const Database& db) {
    FileTables tables;
    tables.runs = read_runs(db);
    tables.processes = read_rows<ProcessRow>(
        db,
        "SELECT id, run_id, uuid, parent_uuid, role, rank, world_size, worker_id,"
        " loader_id, pid, start_method, host, boot_id, started_ns, ended_ns, ending,"
        " dropped_count, unsummed_count FROM main.process NOT INDEXED ORDER BY id",
        read_process);
    tables.loaders = read_rows<LoaderRow>(
        db,
        "SELECT id, process_id, number, name, created_at, dataset_class, num_workers,"
        " batch_size, prefetch_factor, persistent_workers, pin_memory, in_order,"
        " start_method, sampler_class FROM main.loader NOT INDEXED ORDER BY id",
        read_loader);
    tables.iterators =
        read_rows<IteratorRow>(db,
                               "SELECT id, loader_id, number, epoch, phase, "
                               "started_ns, first_wait_ns, ended_ns,"
                               " exhausted FROM main.iterator NOT INDEXED ORDER BY id",
                               read_iterator);
    tables.tracks = read_rows<TrackRow>(
        db,
        "SELECT id, process_id, tid, name, kind FROM main.track NOT INDEXED ORDER BY "
        "id",
        [](const Statement& row) {
            return TrackRow{row.integer(0), row.integer(1), row.integer(2), row.text(3),
                            row.text(4)};
        });
    tables.stages = read_rows<NameRow>(
        db, "SELECT id, name FROM main.stage NOT INDEXED ORDER BY id", read_name);
    tables.counter_names = read_rows<NameRow>(
        db, "SELECT id, name FROM main.counter_name NOT INDEXED ORDER BY id",
        read_name);
    tables.first_clocks = read_first_clocks(db);
    tables.cpu_usage = read_rows<CpuUsageRow>(
        db,
        "SELECT process_id, track_id, at_ns, cpu_ns, coalesce(queued_ns, -1)"
        " FROM main.cpu_usage NOT INDEXED ORDER BY at_ns, id",
        [](const Statement& row) {
            return CpuUsageRow{row.integer(0),
                               row.maybe_integer(1),
                               {row.integer(2), row.integer(3), row.integer(4)}};
        });
    tables.environment = read_rows<FactRow>(
        db,
        "SELECT process_id, key, value FROM main.environment NOT INDEXED"
        " ORDER BY process_id, key",
        [](const Statement& row) {
            return FactRow{row.integer(0), row.text(1), row.text(2)};
        });
    tables.health = read_rows<HealthRow>(
        db, "SELECT process_id, code, text FROM main.health NOT INDEXED ORDER BY id",
        [](const Statement& row) {
            return HealthRow{row.integer(0), {row.text(1), row.text(2)}};
        });
    return tables;
}

}  // namespace metatrain_timing::analyzer
