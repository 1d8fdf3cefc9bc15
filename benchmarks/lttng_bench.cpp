// What an interval costs by LTTng-UST: an event at its begin and one at its end.
//
//     build/release/benchmarks/lttng_bench
//
// Whether the events go anywhere is up to the session daemon: python/hot_bench.py runs
// this without one and with a session of its own.
#include <benchmark/benchmark.h>

#include <chrono>
#include <thread>

#include "benchmarks/lttng_events.inc"
#include "benchmarks/measure.hpp"

namespace {

// For LTTng's consumer daemon, so that no event is discarded.
constexpr std::chrono::milliseconds kTimeToDrain{5};

void EventPair(benchmark::State& state) {
    metatrain_timing::bench::measure(
        state,
        [] {
            lttng_ust_tracepoint(metatrain_timing_bench, begin, 1);
            lttng_ust_tracepoint(metatrain_timing_bench, end, 1);
        },
        [] { std::this_thread::sleep_for(kTimeToDrain); });
}
BENCHMARK(EventPair)->Iterations(metatrain_timing::bench::kBatches)->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
