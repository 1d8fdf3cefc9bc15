#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "analyzer/analysis/batch_index.hpp"
#include "analyzer/analysis/loops.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// A stretch of time on a thread, CLOCK_MONOTONIC.
struct Span {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t cpu_ns = -1;  // of the thread; -1: not measured

    std::int64_t dur_ns() const { return end_ns - start_ns; }
};

/// One batch from its index to the end of its use; what is not on record is empty. The
/// same as a row of the view `v_batch`.
struct BatchLife {
    std::int32_t iterator = -1;  // index into Run::iterators
    std::int32_t batch = -1;
    /// Who fetched it: index into Run::processes. The training process without workers.
    std::optional<std::size_t> process;
    std::optional<Span> put;  // its index was drawn and handed to a worker
    std::optional<Span> fetch;
    std::optional<Span> dataset;  // of the fetch: reading the samples
    std::optional<Span> collate;  // of the fetch
    std::optional<Span> send;
    std::optional<Span> receive;
    std::optional<Span> pin;
    std::optional<Span> wait;  // of the loop, for it
    std::optional<Span> body;  // of the loop, with it
};

/// The life of the batch that was waited for in interval `wait` of the track `loop`,
/// and used in `body`, if that is on record. A stage that ran several times for it
/// spans from the first begin to the last end.
BatchLife find_batch_life(const StageNumbers& stages, const BatchIndex& index,
                          const Track& loop, std::uint32_t wait,
                          std::optional<std::uint32_t> body);

}  // namespace metatrain_timing::analyzer
