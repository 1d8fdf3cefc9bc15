// What an interval costs the thread that is timed, beside the least it could cost.
//
//     build/release/benchmarks/interval_bench
//
// The loops end before a ring is full: what is measured is recording, not dropping.
#include <benchmark/benchmark.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

namespace {

namespace mt = metatrain_timing;

constexpr int kIntervals =
    4000;  // a ring holds 8192, and calls the drain at half of it

/// Runs `body` 4,000 times between two flushes; `Time` is that of one.
template <typename Body>
void measure(benchmark::State& state, Body body) {
    for (auto _ : state) {
        for (int index = 0; index < kIntervals; ++index) {
            body();
        }
        state.PauseTiming();
        mt::flush();
        state.ResumeTiming();
    }
    state.counters["each"] =
        benchmark::Counter(kIntervals, benchmark::Counter::kIsIterationInvariantRate |
                                           benchmark::Counter::kInvert);
}

void EmptyLoop(benchmark::State& state) {
    int value = 0;
    measure(state, [&value] { benchmark::DoNotOptimize(++value); });
}
BENCHMARK(EmptyLoop);

void TwoClockReads(benchmark::State& state) {
    measure(state, [] {
        benchmark::DoNotOptimize(mt::now_ns());
        benchmark::DoNotOptimize(mt::now_ns());
    });
}
BENCHMARK(TwoClockReads);

void IntervalOff(benchmark::State& state) {
    const auto stage = mt::stage("off");
    measure(state, [stage] { const mt::Interval interval(stage); });
}
BENCHMARK(IntervalOff);

template <typename Body>
void measure_recording(benchmark::State& state, Body body) {
    mt::start({});
    measure(state, body);
    state.counters["dropped"] = static_cast<double>(mt::health().dropped_count);
    mt::stop();
}

void IntervalOn(benchmark::State& state) {
    const auto stage = mt::stage("on");
    measure_recording(state, [stage] { const mt::Interval interval(stage); });
}
BENCHMARK(IntervalOn);

void IntervalWithCpuTime(benchmark::State& state) {
    const auto stage = mt::stage("cpu");
    measure_recording(state, [stage] { mt::end(mt::begin_with_cpu(stage)); });
}
BENCHMARK(IntervalWithCpuTime);

void Count(benchmark::State& state) {
    const auto counter = mt::counter("atoms");
    measure_recording(state, [counter] { mt::count(counter, 1.0); });
}
BENCHMARK(Count);

}  // namespace

BENCHMARK_MAIN();
