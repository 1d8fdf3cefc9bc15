#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "benchmarks/ticks.hpp"

namespace metatrain_timing::bench {

/// Calls in a batch: fewer than half of a ring of 8,192 records, at which the drain
/// thread would be woken.
inline constexpr int kBatch = 4000;

/// Calls before each batch that nobody times: what happened between two batches has
/// filled the caches with other things.
inline constexpr int kWarmUp = 64;

/// Batches of each kind in one repetition: 200,000 calls timed one by one.
inline constexpr int kBatches = 50;

/// The value below which the share `q` of `values` lies.
inline double quantile(std::vector<double> values, double q) {
    const auto rank = static_cast<std::size_t>(q * static_cast<double>(values.size()));
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), place, values.end());
    return *place;
}

/// Measures what one call of `body` costs, in two ways that take turns:
/// - `median_ns`: batches of calls timed as a whole, the median batch per call;
/// - `p999_ns`: calls timed one by one, the 99.9th percentile. The two clock reads
///   around a call are in it.
///
/// `between()` is called, untimed, after each batch.
template <typename Body, typename Between>
void measure(benchmark::State& state, Body body, Between between) {
    const double tick_ns = ns_per_tick();
    std::vector<double> batch_ns;
    std::vector<double> each_ns;
    each_ns.reserve(std::size_t{kBatches} * kBatch);
    const auto warm_up = [&body] {
        for (int index = 0; index < kWarmUp; ++index) {
            body();
            benchmark::ClobberMemory();
        }
    };
    for (auto _ : state) {
        warm_up();
        const std::uint64_t start = read_ticks();
        for (int index = 0; index < kBatch; ++index) {
            body();
            benchmark::ClobberMemory();
        }
        const double ns = static_cast<double>(read_ticks() - start) * tick_ns;
        batch_ns.push_back(ns / kBatch);
        state.SetIterationTime(ns / 1e9);
        between();

        warm_up();
        for (int index = 0; index < kBatch; ++index) {
            const std::uint64_t before = read_ticks();
            body();
            benchmark::ClobberMemory();
            each_ns.push_back(static_cast<double>(read_ticks() - before) * tick_ns);
        }
        between();
    }
    state.counters["median_ns"] = quantile(std::move(batch_ns), 0.5);
    state.counters["p999_ns"] = quantile(std::move(each_ns), 0.999);
}

}  // namespace metatrain_timing::bench
