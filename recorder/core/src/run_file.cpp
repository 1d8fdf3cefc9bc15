#include "recorder/core/src/run_file.hpp"

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <metatrain_timing/schema/sql.hpp>
#include <optional>

#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/sql.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr int kBusyTimeoutMs =
    20;  // a reader in the way: the records wait in their rings
constexpr int kClosingBusyTimeoutMs = 200;

void bind_value(SQLite::Statement& statement, const char* name, std::int64_t value) {
    statement.bind(name, value);
}

void bind_value(SQLite::Statement& statement, const char* name, bool value) {
    statement.bind(name, static_cast<int>(value));
}

void bind_value(SQLite::Statement& statement, const char* name,
                const std::string& value) {
    statement.bind(name, value);
}

template <typename Value>
void bind_value(SQLite::Statement& statement, const char* name,
                const std::optional<Value>& value) {
    if (value) {
        bind_value(statement, name, *value);
    } else {
        statement.bind(name);
    }
}

void bind_unless_empty(SQLite::Statement& statement, const char* name,
                       const std::string& value) {
    if (value.empty()) {
        statement.bind(name);
    } else {
        statement.bind(name, value);
    }
}

const char* role_name(ProcessInfo::Role role) {
    switch (role) {
        case ProcessInfo::Role::main:
            return "main";
        case ProcessInfo::Role::worker:
            return "worker";
        case ProcessInfo::Role::child:
            break;
    }
    return "child";
}

// SQLite itself would wait for ever on a pipe, and say little about a folder.
std::string require_regular_or_missing(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status)) {
        throw FileRefused("is a folder");
    }
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        throw FileRefused("is no ordinary file");
    }
    return path.string();
}

int open_flags() {
    // One thread at a time: no mutex of SQLite's own.
    return SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX;
}

}  // namespace

struct RunFile::Statements {
    explicit Statements(const RunFile& file)
        : insert_clock(file.prepare(schema::statements::insert_clock)),
          insert_cpu_usage(file.prepare(schema::statements::insert_cpu_usage)),
          insert_counter(file.prepare(schema::statements::insert_counter)),
          insert_health(file.prepare(schema::statements::insert_health)),
          insert_track(file.prepare(schema::statements::insert_track)),
          update_track_position(
              file.prepare(schema::statements::update_track_position)),
          upsert_stage(file.prepare(schema::statements::upsert_stage)),
          upsert_counter_name(file.prepare(schema::statements::upsert_counter_name)),
          upsert_environment(file.prepare(schema::statements::upsert_environment)),
          upsert_loader(file.prepare(schema::statements::upsert_loader)),
          upsert_iterator(file.prepare(schema::statements::upsert_iterator)),
          update_dropped(file.prepare(schema::statements::update_process_dropped)),
          upsert_interval_total(
              file.prepare(schema::statements::upsert_interval_total)),
          upsert_counter_total(file.prepare(schema::statements::upsert_counter_total)),
          insert_intervals(file.database_) {}

    SQLite::Statement insert_clock;
    SQLite::Statement insert_cpu_usage;
    SQLite::Statement insert_counter;
    SQLite::Statement insert_health;
    SQLite::Statement insert_track;
    SQLite::Statement update_track_position;
    SQLite::Statement upsert_stage;
    SQLite::Statement upsert_counter_name;
    SQLite::Statement upsert_environment;
    SQLite::Statement upsert_loader;
    SQLite::Statement upsert_iterator;
    SQLite::Statement update_dropped;
    SQLite::Statement upsert_interval_total;
    SQLite::Statement upsert_counter_total;
    IntervalInsert insert_intervals;
};

RunFile::RunFile(const std::filesystem::path& path, const FileAccess& access,
                 ProcessRow process, const Names& stages, const Names& counters)
    : path_(path),
      process_(std::move(process)),
      stages_(stages),
      counters_(counters),
      database_(require_regular_or_missing(path), open_flags(), kBusyTimeoutMs,
                access.locks ? "" : "unix-none") {
    try {
        bring_to_schema();
    } catch (const SQLite::Exception& error) {
        switch (error.getErrorCode()) {
            case SQLITE_NOTADB:
                throw FileRefused("is not an SQLite database");
            case SQLITE_CORRUPT:
                throw FileRefused("is damaged");
            default:
                throw;
        }
    }
    // Measured over 300 short lives of workers, WAL costs as much CPU time as TRUNCATE
    // and DELETE (5 ms a life, most of it the kernel's), and readers of a live run and
    // its writer are never in each other's way.
    if (access.shared_memory && access.locks) {
        database_.exec("PRAGMA journal_mode = WAL");
    } else {
        database_.exec(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE");
    }
    database_.exec(access.durable ? "PRAGMA synchronous = NORMAL"
                                  : "PRAGMA synchronous = OFF");
    file_ = identity(path_);
}

RunFile::~RunFile() = default;

RunFile::Identity RunFile::identity(const std::string& path) noexcept {
    struct stat info{};
    return stat(path.c_str(), &info) == 0
               ? Identity{info.st_dev, info.st_ino, info.st_size}
               : Identity{};
}

bool RunFile::is_in_place() const {
    const std::string path = path_.native();
    const Identity shared_memory = identity(path + "-shm");
    return file_.is_kept_by(identity(path)) &&
           wal_.is_kept_by(identity(path + "-wal")) &&
           shared_memory_.is_kept_by(shared_memory) &&
           shared_memory.size >= shared_memory_.size;
}

SQLite::Statement RunFile::prepare(std::string_view sql) const {
    return {database_, std::string(sql)};
}

void RunFile::bring_to_schema() {
    database_.exec("PRAGMA synchronous = OFF");  // until the caller has its say
    const int application_id = database_.execAndGet("PRAGMA application_id").getInt();
    const int version = database_.execAndGet("PRAGMA user_version").getInt();
    const bool is_empty =
        database_.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
    if (application_id != schema::kApplicationId &&
        !(application_id == 0 && version == 0 && is_empty)) {
        throw FileRefused("is a database of something else");
    }
    if (version > schema::kUserVersion) {
        throw FileRefused("was written by a newer version");
    }
    if (sqlite3_db_readonly(database_.getHandle(), "main") == 1) {
        throw FileRefused("cannot be written");
    }
    if (version == schema::kUserVersion) {
        return;
    }
    if (!is_empty) {
        throw FileRefused("was written by an older version");
    }
    database_.exec("BEGIN IMMEDIATE");
    for (const schema::NamedSql& migration : schema::migrations()) {
        database_.exec(std::string(migration.sql));
    }
    for (const schema::NamedSql& view : schema::views()) {
        database_.exec(std::string(view.sql));
    }
    database_.exec("COMMIT");
}

void RunFile::begin() {
    if (!statements_) {
        statements_ = std::make_unique<Statements>(*this);
    }
    database_.exec("BEGIN IMMEDIATE");
    if (process_id_ == 0 && !find_process()) {
        insert_process();
    }
}

// The row of this life is there already if it was killed and its ring is read now.
bool RunFile::find_process() {
    auto select = prepare(schema::statements::select_process_id);
    bind_value(select, ":uuid", process_.process_uuid);
    process_id_ = run_for_id(select);
    if (process_id_ == 0) {
        return false;
    }
    process_is_fresh_ = true;
    find_rows_of_process();
    return true;
}

void RunFile::find_rows_of_process() {
    const auto each = [this](std::string_view sql, RowIds& ids, const auto& add_more) {
        auto select = prepare(sql);
        bind_value(select, ":process_id", process_id_);
        while (select.executeStep()) {
            const auto number =
                static_cast<std::uint64_t>(select.getColumn(0).getInt64());
            ids.add(number, select.getColumn(1).getInt64());
            add_more(number, select);
        }
    };
    const auto no_more = [](std::uint64_t, SQLite::Statement&) {};
    each(schema::statements::select_loader_ids, loaders_, no_more);
    each(schema::statements::select_iterator_ids, iterators_, no_more);
    each(schema::statements::select_tracks, tracks_,
         [this](std::uint64_t number, SQLite::Statement& row) {
             ring_positions_[number] =
                 static_cast<std::uint64_t>(row.getColumn(2).getInt64());
         });
}

void RunFile::insert_process() {
    auto insert_run = prepare(schema::statements::insert_run);
    bind_value(insert_run, ":uuid", process_.run.uuid);
    bind_value(insert_run, ":job", process_.run.job);
    bind_value(insert_run, ":attempt", process_.run.attempt);
    bind_value(insert_run, ":started_unix_ns", process_.run.started_unix_ns);
    bind_value(insert_run, ":command", process_.command);
    bind_value(insert_run, ":cwd", process_.cwd);
    bind_value(insert_run, ":host", process_.host);
    run(insert_run);
    auto select_run = prepare(schema::statements::select_run_id);
    bind_value(select_run, ":uuid", process_.run.uuid);
    const std::int64_t run_id = run_for_id(select_run);

    auto insert = prepare(schema::statements::insert_process);
    bind_value(insert, ":run_id", run_id);
    bind_value(insert, ":uuid", process_.process_uuid);
    bind_unless_empty(insert, ":parent_uuid", process_.parent_uuid);
    bind_value(insert, ":role", std::string(role_name(process_.info.role)));
    bind_value(insert, ":rank", process_.run.rank.rank);
    bind_value(insert, ":world_size", process_.run.rank.world_size);
    bind_value(insert, ":worker_id", process_.info.worker_id);
    bind_value(insert, ":pid", std::int64_t{process_.pid});
    bind_unless_empty(insert, ":start_method", process_.info.start_method);
    bind_value(insert, ":host", process_.host);
    bind_value(insert, ":boot_id", process_.boot_id);
    bind_value(insert, ":started_ns", process_.info.started_ns);
    process_id_ = run_for_id(insert);
    process_is_fresh_ = true;
}

void RunFile::commit() {
    statements_->insert_intervals.finish();
    if (thinner_) {
        thinner_->write();
    }
    database_.exec("COMMIT");
    if (thinner_) {
        thinner_->commit();
    }
    process_is_fresh_ = false;
    if (wal_.inode == 0) {
        wal_ = identity(path_.native() + "-wal");
        shared_memory_ = identity(path_.native() + "-shm");
    }
    written_count_ += uncommitted_count_;
    uncommitted_count_ = 0;
    for (const auto& [number, position] : uncommitted_positions_) {
        ring_positions_[number] = position;
    }
    uncommitted_positions_.clear();
    for (RowIds* ids : {&tracks_, &track_versions_, &stage_ids_, &counter_ids_,
                        &loaders_, &iterators_}) {
        ids->commit();
    }
}

void RunFile::roll_back() noexcept {
    statements_.reset();  // one that failed half-way could not be used again
    if (thinner_) {
        thinner_->roll_back();
    }
    // SQLite may have rolled back by itself (disk full); then this fails, harmlessly.
    sqlite3_exec(database_.getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
    if (process_is_fresh_) {
        process_id_ = 0;
        process_is_fresh_ = false;
    }
    written_drops_ = {};
    uncommitted_count_ = 0;
    uncommitted_positions_.clear();
    for (RowIds* ids : {&tracks_, &track_versions_, &stage_ids_, &counter_ids_,
                        &loaders_, &iterators_}) {
        ids->roll_back();
    }
}

void RunFile::write(const PendingDefinitions& definitions) {
    for (const LoaderState& loader : definitions.loaders) {
        write_loader(loader);
    }
    for (const IteratorState& iterator : definitions.iterators) {
        write_iterator(iterator);
    }
    for (const auto& [key, value] : definitions.facts) {
        SQLite::Statement& upsert = statements_->upsert_environment;
        bind_value(upsert, ":process_id", process_id_);
        bind_value(upsert, ":key", key);
        bind_value(upsert, ":value", value);
        run(upsert);
    }
    for (const Problem& problem : definitions.problems) {
        SQLite::Statement& insert = statements_->insert_health;
        bind_value(insert, ":process_id", process_id_);
        bind_value(insert, ":at_ns", problem.at_ns);
        bind_value(insert, ":code", problem.code);
        bind_value(insert, ":text", problem.text);
        run(insert);
    }
}

void RunFile::write_loader(const LoaderState& loader) {
    SQLite::Statement& upsert = statements_->upsert_loader;
    bind_value(upsert, ":process_id", process_id_);
    bind_value(upsert, ":number", loader.number);
    bind_value(upsert, ":name", loader.info.name);
    bind_unless_empty(upsert, ":created_at", loader.info.created_at);
    bind_unless_empty(upsert, ":dataset_class", loader.info.dataset_class);
    bind_value(upsert, ":num_workers", loader.info.num_workers);
    bind_value(upsert, ":batch_size", loader.info.batch_size);
    bind_value(upsert, ":prefetch_factor", loader.info.prefetch_factor);
    bind_value(upsert, ":persistent_workers", loader.info.persistent_workers);
    bind_value(upsert, ":pin_memory", loader.info.pin_memory);
    bind_value(upsert, ":in_order", loader.info.in_order);
    bind_unless_empty(upsert, ":start_method", loader.info.start_method);
    bind_unless_empty(upsert, ":sampler_class", loader.info.sampler_class);
    const std::int64_t row_id = run_for_id(upsert);
    loaders_.add(static_cast<std::uint64_t>(loader.number), row_id);

    if (process_.info.role == ProcessInfo::Role::worker &&
        process_.info.loader == loader.number) {
        auto update = prepare(schema::statements::update_process_loader);
        bind_value(update, ":process_id", process_id_);
        bind_value(update, ":loader_id", row_id);
        run(update);
    }
}

void RunFile::write_iterator(const IteratorState& iterator) {
    const std::int64_t loader_id =
        loaders_.find(static_cast<std::uint64_t>(iterator.loader));
    if (loader_id == 0) {
        return;  // `Definitions` sees to it that there is one
    }
    SQLite::Statement& upsert = statements_->upsert_iterator;
    bind_value(upsert, ":loader_id", loader_id);
    bind_value(upsert, ":number", iterator.number);
    bind_value(upsert, ":epoch", iterator.epoch);
    bind_unless_empty(upsert, ":phase", iterator.phase);
    bind_value(upsert, ":started_ns", iterator.started_ns);
    bind_value(upsert, ":first_wait_ns", iterator.first_wait_ns);
    bind_value(upsert, ":ended_ns", iterator.ended_ns);
    bind_value(upsert, ":exhausted", iterator.exhausted);
    iterators_.add(static_cast<std::uint64_t>(iterator.number), run_for_id(upsert));
}

void RunFile::write(const ClockSnapshot& snapshot) {
    SQLite::Statement& insert = statements_->insert_clock;
    bind_value(insert, ":process_id", process_id_);
    bind_value(insert, ":monotonic_ns", snapshot.monotonic_ns);
    bind_value(insert, ":unix_ns", snapshot.unix_ns);
    run(insert);
}

void RunFile::write_usage(std::int64_t at_ns, const std::vector<Harvest>& harvests) {
    SQLite::Statement& insert = statements_->insert_cpu_usage;
    const auto write_row = [&](const std::optional<std::int64_t>& track,
                               std::int64_t cpu_ns,
                               const std::optional<std::int64_t>& queued_ns) {
        bind_value(insert, ":process_id", process_id_);
        bind_value(insert, ":track_id", track);
        bind_value(insert, ":at_ns", at_ns);
        bind_value(insert, ":cpu_ns", cpu_ns);
        bind_value(insert, ":queued_ns", queued_ns);
        run(insert);
    };
    write_row(std::nullopt, process_cpu_ns(), platform::process_queued_ns());
    for (const Harvest& harvest : harvests) {
        if (const auto usage = platform::thread_usage(harvest.track.tid);
            usage && !harvest.finished) {
            write_row(track_id(harvest), usage->cpu_ns, usage->queued_ns);
        }
    }
}

std::int64_t RunFile::track_id(const Harvest& harvest) {
    const TrackInfo& info = harvest.track;
    std::int64_t id = tracks_.find(info.number);
    const std::int64_t version = std::int64_t{harvest.name_version} + 1;
    if (id != 0 && track_versions_.find(info.number) == version) {
        return id;
    }
    if (id == 0) {
        SQLite::Statement& insert = statements_->insert_track;
        bind_value(insert, ":process_id", process_id_);
        bind_value(insert, ":number", static_cast<std::int64_t>(info.number));
        bind_value(insert, ":tid", info.tid);
        bind_value(insert, ":name", info.name);
        id = run_for_id(insert);
        tracks_.add(info.number, id);
    } else {
        auto update = prepare(schema::statements::update_track_name);
        bind_value(update, ":track_id", id);
        bind_value(update, ":name", info.name);
        run(update);
    }
    track_versions_.add(info.number, version);
    return id;
}

std::int64_t RunFile::stage_id(std::uint16_t number) {
    std::int64_t id = stage_ids_.find(number);
    if (id == 0) {
        bind_value(statements_->upsert_stage, ":name", stages_.name(number));
        id = run_for_id(statements_->upsert_stage);
        stage_ids_.add(number, id);
    }
    return id;
}

std::int64_t RunFile::counter_id(std::uint16_t number) {
    std::int64_t id = counter_ids_.find(number);
    if (id == 0) {
        bind_value(statements_->upsert_counter_name, ":name", counters_.name(number));
        id = run_for_id(statements_->upsert_counter_name);
        counter_ids_.add(number, id);
    }
    return id;
}

std::int64_t RunFile::iterator_id(std::uint32_t number) {
    return number == kUnknown ? 0 : iterators_.find(number);
}

void RunFile::write(const Harvest& harvest) {
    if (harvest.dropped) {
        write_sums(track_id(harvest), *harvest.dropped);
    }
    const auto known = ring_positions_.find(harvest.track.number);
    const std::uint64_t from = known == ring_positions_.end()
                                   ? harvest.from
                                   : std::max(harvest.from, known->second);
    if (from >= harvest.to) {
        return;
    }
    const Ring& ring = *harvest.ring;
    const std::int64_t track = track_id(harvest);
    const bool is_thinned = thinner_ && !thinner_->rule().keeps_all();
    const std::vector<bool> kept =
        is_thinned ? kept_records(harvest, track, from) : std::vector<bool>();
    for (std::uint64_t position = from; position < harvest.to; ++position) {
        const Record& record = ring.at(position);
        if (is_thinned && !kept[position - from]) {
            continue;
        }
        if (record.label.kind == RecordKind::counter) {
            write_counter(track, record);
            ++uncommitted_count_;
            continue;
        }
        IntervalRow row;
        row.track_id = track;
        row.stage_id = stage_id(record.label.name);
        row.iterator_id = iterator_id(record.label.context.iterator);
        row.start_ns = record.start_ns;
        row.dur_ns = static_cast<std::int64_t>(record.payload);
        row.step = record.label.context.step;
        row.batch = record.label.context.batch;
        row.depth = record.label.depth;
        if (record.label.kind == RecordKind::interval_with_cpu) {
            ++position;  // both were published at once
            row.cpu_ns = static_cast<std::int64_t>(ring.at(position).payload);
        }
        statements_->insert_intervals.add(row);
        ++uncommitted_count_;
    }
    SQLite::Statement& update = statements_->update_track_position;
    bind_value(update, ":track_id", track);
    bind_value(update, ":ring_position", static_cast<std::int64_t>(harvest.to));
    run(update);
    uncommitted_positions_[harvest.track.number] = harvest.to;
}

// Which records of a harvest stay when the run is thinned; the sums of the others are
// noted. A length that is stored in a second record goes with its interval.
std::vector<bool> RunFile::kept_records(const Harvest& harvest, std::int64_t track,
                                        std::uint64_t from) {
    ThinningWalk walk;
    for (const OpenFrame& frame : harvest.frames) {
        walk.enter(walked(track, frame), thinner_->rule_at(frame.start_ns));
    }
    std::vector<bool> kept(harvest.to - from, true);
    std::int64_t cpu_ns = -1;
    for (std::uint64_t position = harvest.to; position-- > from;) {
        const Record& record = harvest.ring->at(position);
        if (record.label.kind == RecordKind::cpu) {
            cpu_ns = static_cast<std::int64_t>(record.payload);
            continue;
        }
        WalkedInterval interval = walked(track, record);
        const std::uint64_t index = position - from;
        if (record.label.kind == RecordKind::counter) {
            const double value = std::bit_cast<double>(record.payload);
            kept[index] =
                !std::isfinite(value) ||
                thinner_->keeps_counter(track, counter_id(record.label.name),
                                        interval.iterator_id, interval.subject, value);
            continue;
        }
        const bool has_cpu = record.label.kind == RecordKind::interval_with_cpu;
        interval.stage_id = stage_id(record.label.name);
        interval.cpu_ns = has_cpu ? cpu_ns : -1;
        kept[index] = walk.keeps(interval, thinner_->rule_at(interval.start_ns),
                                 thinner_->totals());
        if (has_cpu) {
            kept[index + 1] = kept[index];
        }
    }
    return kept;
}

WalkedInterval RunFile::walked(std::int64_t track, const Record& record) {
    const PackedContext& context = record.label.context;
    WalkedInterval interval;
    interval.track_id = track;
    interval.iterator_id = iterator_id(context.iterator);
    interval.start_ns = record.start_ns;
    interval.end_ns = record.start_ns + static_cast<std::int64_t>(record.payload);
    interval.subject = {context.iterator == kUnknown ? 0 : context.iterator,
                        unpack(context.batch), unpack(context.step),
                        thinning_row(record.start_ns)};
    return interval;
}

WalkedInterval RunFile::walked(std::int64_t track, const OpenFrame& frame) {
    WalkedInterval interval = walked(track, Record{frame.start_ns, 0, frame.label()});
    interval.stage_id = stage_id(frame.label().name);
    interval.end_ns = std::numeric_limits<std::int64_t>::max();
    return interval;
}

void RunFile::thin_more() {
    if (!thinner_) {
        thinner_ = std::make_unique<Thinner>(database_);
    }
    thinner_->sharpen(monotonic_ns());
}

std::uint32_t RunFile::keeps_one_in() const noexcept {
    return thinner_ ? thinner_->rule().keeps_one_in() : 1;
}

void RunFile::begin_thinning_written(const std::vector<Harvest>& harvests) {
    statements_->insert_intervals.finish();
    std::vector<WalkedInterval> open;
    for (const Harvest& harvest : harvests) {
        if (harvest.frames.empty()) {
            continue;
        }
        const std::int64_t track = track_id(harvest);
        for (const OpenFrame& frame : harvest.frames) {
            open.push_back(walked(track, frame));
        }
    }
    auto select = prepare(schema::statements::select_first_track_of_run);
    bind_value(select, ":process_id", process_id_);
    thinner_->begin_walk(run_for_id(select), open);
}

void RunFile::thin_written(std::size_t row_count) {
    thinner_->walk(row_count);
}

void RunFile::end_thinning_written() {
    thinner_->end_walk();
}

bool RunFile::is_thinning_written() const noexcept {
    return thinner_ && thinner_->is_walking();
}

void RunFile::checkpoint() {
    database_.exec("PRAGMA wal_checkpoint(PASSIVE)");
}

RunFile::Size RunFile::size() {
    const std::int64_t page_size = database_.execAndGet("PRAGMA page_size").getInt64();
    const std::int64_t pages = database_.execAndGet("PRAGMA page_count").getInt64();
    const std::int64_t unused =
        database_.execAndGet("PRAGMA freelist_count").getInt64();
    return {(pages - unused) * page_size, pages * page_size};
}

void RunFile::write_counter(std::int64_t track, const Record& record) {
    if (!std::isfinite(std::bit_cast<double>(record.payload))) {
        return;  // of a damaged ring: NULL would fail the whole transaction
    }
    SQLite::Statement& insert = statements_->insert_counter;
    insert.bind(1, track);
    insert.bind(2, counter_id(record.label.name));
    insert.bind(3, record.start_ns);
    insert.bind(4, std::bit_cast<double>(record.payload));
    bind_unless(insert, 5, std::int64_t{record.label.context.step}, kUnknown);
    bind_unless(insert, 6, iterator_id(record.label.context.iterator), 0);
    bind_unless(insert, 7, std::int64_t{record.label.context.batch}, kUnknown);
    run(insert);
}

void RunFile::write_open(const Harvest& harvest) {
    const OpenStack& open = *harvest.open;
    auto insert = prepare(schema::statements::insert_open_interval);
    for (std::uint32_t depth = 0; depth < OpenStack::kMaxDepth; ++depth) {
        const auto frame = open.peek(depth);
        if (!frame) {
            break;
        }
        bind_value(insert, ":track_id", track_id(harvest));
        bind_value(insert, ":stage_id", stage_id(frame->label().name));
        bind_value(insert, ":start_ns", frame->start_ns);
        bind_value(insert, ":depth", std::int64_t{depth});
        bind_unless(insert, ":step", std::int64_t{frame->label().context.step},
                    kUnknown);
        bind_unless(insert, ":iterator_id",
                    iterator_id(frame->label().context.iterator), 0);
        bind_unless(insert, ":batch", std::int64_t{frame->label().context.batch},
                    kUnknown);
        run(insert);
    }
}

// Absolute values, found again by their numbers: to write them twice changes nothing.
void RunFile::write_sums(std::int64_t track, const DroppedSums& sums) {
    std::unordered_map<std::int64_t, std::int64_t> row_ids{{DroppedSums::kTop, 0}};
    SQLite::Statement& interval = statements_->upsert_interval_total;
    for (const DroppedSums::Interval& node : sums.intervals) {
        bind_value(interval, ":track_id", track);
        bind_unless(interval, ":parent_id", row_ids.at(node.parent), 0);
        bind_value(interval, ":stage_id", stage_id(node.stage));
        bind_unless(interval, ":iterator_id", iterator_id(node.iterator), 0);
        bind_sums(interval, node.sums);
        bind_value(interval, ":node", node.node);
        row_ids[node.node] = run_for_id(interval);
    }
    SQLite::Statement& counter = statements_->upsert_counter_total;
    for (const DroppedSums::Counter& node : sums.counters) {
        bind_value(counter, ":track_id", track);
        bind_value(counter, ":name_id", counter_id(node.counter));
        bind_unless(counter, ":iterator_id", iterator_id(node.iterator), 0);
        bind_value(counter, ":calls", node.sums.calls);
        counter.bind(":value", node.sums.value);
        bind_value(counter, ":node", node.node);
        run(counter);
    }
}

void RunFile::write_dropped(const DropCounts& counts) {
    if (counts == written_drops_) {
        return;
    }
    SQLite::Statement& update = statements_->update_dropped;
    bind_value(update, ":process_id", process_id_);
    bind_value(update, ":dropped_count", counts.dropped);
    bind_value(update, ":unsummed_count", counts.unsummed);
    run(update);
    written_drops_ = counts;
}

void RunFile::write_ended(std::int64_t ended_ns) {
    auto update = prepare(schema::statements::update_process_ended);
    bind_value(update, ":process_id", process_id_);
    bind_value(update, ":ended_ns", ended_ns);
    run(update);
}

bool RunFile::has_ended() {
    auto select = prepare(schema::statements::select_process_ending);
    bind_value(select, ":process_id", process_id_);
    return select.executeStep() && select.getColumn(0).getString() != "unknown";
}

void RunFile::write_killed() {
    auto update = prepare(schema::statements::update_process_killed);
    bind_value(update, ":process_id", process_id_);
    run(update);
}

void RunFile::save_if_renamed() noexcept {
    if (!file_.is_kept_by(identity(path_.native()))) {
        statements_.reset();
        sqlite3_wal_checkpoint_v2(database_.getHandle(), nullptr,
                                  SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    }
}

void RunFile::make_self_contained() noexcept {
    statements_.reset();  // an unfinished statement would be a reader of our own
    try {
        database_.setBusyTimeout(kClosingBusyTimeoutMs);
        database_.exec("PRAGMA journal_mode = DELETE");
    } catch (...) {
        // a reader is in the way, or the disk is full: what is committed stays readable
    }
}

}  // namespace metatrain_timing::detail
