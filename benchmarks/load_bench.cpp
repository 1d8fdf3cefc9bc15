// How fast and in how much memory runs are loaded: 32 bytes an interval is the promise
// of the model, 12 million intervals in 3 s on two cores the aim.
//
//   load_bench                                     1 million intervals a file
//   MT_BENCH_STEPS=1000000 load_bench              12 million in one file
#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <metatrain_timing/schema/sql.hpp>
#include <stdexcept>
#include <string>

namespace {

namespace fs = std::filesystem;

// Twelve intervals of each step of a training, in the order of their ends.
constexpr const char* kRows = R"(
    INSERT INTO run VALUES (1, 'run', 'job', 1, 0, 'train', '/', 'host');
    INSERT INTO process (id, run_id, uuid, role, pid, host, boot_id, started_ns)
    VALUES (1, 1, 'main', 'main', 1, 'host', 'boot', 0);
    INSERT INTO loader (id, process_id, number, name) VALUES (1, 1, 1, 'train');
    INSERT INTO iterator (id, loader_id, number, epoch, phase, started_ns, first_wait_ns)
    VALUES (1, 1, 1, 0, 'train', 0, 0);
    INSERT INTO track (id, process_id, tid, name) VALUES (1, 1, 1, 'MainThread');
    CREATE TEMP TABLE kind (number, name, start_ns, dur_ns, depth);
    INSERT INTO kind VALUES
        (1, 'sampler', 10, 20, 2), (2, 'put_index', 5, 50, 1), (3, 'receive', 60, 30, 1),
        (4, 'loader', 0, 100, 0), (5, 'unpack', 110, 10, 1), (6, 'h2d', 120, 10, 1),
        (7, 'forward', 140, 200, 1), (8, 'loss', 340, 20, 1), (9, 'inner', 410, 5, 2),
        (10, 'backward', 400, 300, 1), (11, 'optimizer', 700, 100, 1),
        (12, 'step', 100, 890, 0);
    INSERT INTO stage SELECT number, name FROM kind;
    INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id,
                          batch)
    WITH RECURSIVE steps (n) AS (
        SELECT 0 UNION ALL SELECT n + 1 FROM steps WHERE n + 1 < $steps
    )
    SELECT 1, number, n * 1000 + start_ns, dur_ns, depth, n, 1, n FROM steps, kind;
)";

void execute(sqlite3* db, const std::string& sql) {
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        throw std::runtime_error(sqlite3_errmsg(db));
    }
}

long step_count() {
    const char* steps = std::getenv("MT_BENCH_STEPS");
    return steps == nullptr ? 83'334 : std::atol(steps);
}

fs::path make_run(const fs::path& folder) {
    const fs::path path = folder / "run.db";
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    execute(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    for (const auto& migration : metatrain_timing::schema::migrations()) {
        execute(db, std::string(migration.sql));
    }
    std::string rows = kRows;
    rows.replace(rows.find("$steps"), 6, std::to_string(step_count()));
    execute(db, rows + "; COMMIT");
    sqlite3_close(db);
    return path;
}

void load_run(benchmark::State& state) {
    std::string folder = (fs::temp_directory_path() / "mt-load-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
        state.SkipWithError("no temporary folder");
        return;
    }
    const fs::path path = make_run(folder);
    std::size_t count = 0;
    for (auto _ : state) {
        const auto run = metatrain_timing::analyzer::load_run(path);
        count += run.processes.at(0).tracks.at(0).intervals.size();
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.SetItemsProcessed(static_cast<std::int64_t>(count));
    state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
    fs::remove_all(folder);
}

BENCHMARK(load_run)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
