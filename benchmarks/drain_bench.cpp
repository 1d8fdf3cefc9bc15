// How fast recorded intervals reach the database, and how much room they take there.
//
//     build/release/benchmarks/drain_bench
//
// Each thread records at full speed but waits for the drain before its ring is full, so
// nothing is lost and the rate is what can be sustained from ring to file.
#include <SQLiteCpp/SQLiteCpp.h>
#include <benchmark/benchmark.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace mt = metatrain_timing;

constexpr int kIntervalsPerThread = 500'000;
constexpr int kBurst = 2000;

void record_all(mt::StageId stage) {
    for (int index = 0; index < kIntervalsPerThread; ++index) {
        if (index % kBurst == 0) {
            mt::flush();
        }
        mt::set_context({.iterator = -1, .batch = index, .step = index});
        const mt::Interval interval(stage);
    }
    mt::flush();
}

void RingToFile(benchmark::State& state) {
    const auto thread_count = static_cast<int>(state.range(0));
    std::string pattern = (fs::temp_directory_path() / "mt-bench-XXXXXX").string();
    const fs::path folder = mkdtemp(pattern.data());
    const auto stage = mt::stage("forward");
    double rows = 0;
    double bytes = 0;
    std::int64_t dropped = 0;
    for (auto _ : state) {
        const fs::path database = folder / (std::to_string(rows) + ".db");
        mt::start({.database = database});
        std::vector<std::thread> threads;
        for (int index = 0; index < thread_count; ++index) {
            threads.emplace_back(record_all, stage);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        dropped += mt::health().dropped_count;
        mt::stop();
        state.PauseTiming();
        SQLite::Database file(database.string());
        rows += file.execAndGet("SELECT count(*) FROM interval").getDouble();
        bytes += static_cast<double>(fs::file_size(database));
        state.ResumeTiming();
    }
    state.counters["rows"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
    state.counters["bytes_per_row"] = bytes / rows;
    state.counters["dropped"] = static_cast<double>(dropped);
    fs::remove_all(folder);
}
BENCHMARK(RingToFile)
    ->Arg(1)
    ->Arg(4)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
