// What an interval costs the thread that is timed, beside the least it could cost.
//
//     build/release/benchmarks/interval_bench
//
// `median_ns` and `p999_ns` are the results, see measure.hpp. Everything is drained
// between two batches: what is measured is recording, not dropping.
#include <benchmark/benchmark.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include "benchmarks/measure.hpp"
#include "benchmarks/ticks.hpp"

namespace {

namespace fs = std::filesystem;
namespace mt = metatrain_timing;
using mt::bench::measure;
using mt::bench::read_ticks;

void nothing_between() {
}

void EmptyLoop(benchmark::State& state) {
    measure(state, [] {}, nothing_between);
}

struct FloorRecord {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t what;
    std::uint64_t where;
};
static_assert(sizeof(FloorRecord) == 32);

constexpr std::size_t kFloorRecords = 8192;
std::array<FloorRecord, kFloorRecords> floor_ring;

/// The floor: what no recorder of records with a begin and an end can do without.
void TwoTicksAndAStore(benchmark::State& state) {
    std::size_t head = 0;
    measure(
        state,
        [&head] {
            const std::uint64_t start = read_ticks();
            benchmark::ClobberMemory();
            floor_ring[head++ % kFloorRecords] = {start, read_ticks(), 1, 2};
        },
        nothing_between);
}

void TwoClockReads(benchmark::State& state) {
    measure(
        state,
        [] {
            timespec time{};
            clock_gettime(CLOCK_MONOTONIC, &time);
            benchmark::DoNotOptimize(time);
            clock_gettime(CLOCK_MONOTONIC, &time);
            benchmark::DoNotOptimize(time);
        },
        nothing_between);
}

void IntervalOff(benchmark::State& state) {
    const auto stage = mt::stage("off");
    measure(state, [stage] { const mt::Interval interval(stage); }, nothing_between);
}

// A recorder that has just started is not what a training sees: its drain thread has
// not looked at the clocks yet.
constexpr std::chrono::milliseconds kSettling{300};

template <typename Body>
void settle(Body body) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < kSettling) {
        for (int index = 0; index < mt::bench::kBatch; ++index) {
            body();
        }
        mt::flush();
    }
}

template <typename Body>
void measure_recording(benchmark::State& state, Body body) {
    std::string folder = (fs::temp_directory_path() / "mt-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
        state.SkipWithError("no temporary folder");
        return;
    }
    mt::start({.database = fs::path(folder) / "run.db"});
    settle(body);
    measure(state, body, [] { mt::flush(); });
    state.counters["dropped"] = static_cast<double>(mt::health().dropped_count);
    mt::stop();
    fs::remove_all(folder);
}

void IntervalOn(benchmark::State& state) {
    const auto stage = mt::stage("on");
    measure_recording(state, [stage] { const mt::Interval interval(stage); });
}

void BeginAndEnd(benchmark::State& state) {
    const auto stage = mt::stage("begin and end");
    measure_recording(state, [stage] { mt::end(mt::begin(stage)); });
}

void IntervalWithCpuTime(benchmark::State& state) {
    const auto stage = mt::stage("cpu");
    measure_recording(state, [stage] { mt::end(mt::begin_with_cpu(stage)); });
}

void Count(benchmark::State& state) {
    const auto counter = mt::counter("atoms");
    measure_recording(state, [counter] { mt::count(counter, 1.0); });
}

#define MT_PARTY(name) BENCHMARK(name)->Iterations(mt::bench::kBatches)->UseManualTime()

MT_PARTY(EmptyLoop);
MT_PARTY(TwoTicksAndAStore);
MT_PARTY(TwoClockReads);
MT_PARTY(IntervalOff);
MT_PARTY(IntervalOn);
MT_PARTY(BeginAndEnd);
MT_PARTY(IntervalWithCpuTime);
MT_PARTY(Count);

}  // namespace

BENCHMARK_MAIN();
