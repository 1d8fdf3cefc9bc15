#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/replay/work.hpp"

namespace metatrain_timing::analyzer {

/// How a DataLoader is set up, as far as it decides who works when.
struct LoaderSettings {
    std::int64_t num_workers = 0;
    std::int64_t prefetch_factor = 2;  // without workers it says nothing
    bool in_order = true;
    bool persistent_workers = false;
    bool pin_memory = false;
    auto operator<=>(const LoaderSettings&) const = default;
};

/// What one batch takes, wherever that is done.
struct BatchWork {
    Work put;            // drawing its index and handing it to a worker
    Work fetch;          // reading and collating it
    Work send;           // pickling it, in the worker's sender thread
    Work receive;        // unpickling it, while its worker is idle
    Work pin;            // copying it to page-locked memory
    Work body;           // of the loop, with it
    bool steady = true;  // its turn counts in the mean of steps
};

/// One pass over the loader.
struct PassWork {
    std::vector<BatchWork> batches;  // by their index
    std::size_t turns = 0;           // batches the loop used
    /// All its batches were drawn; else the loop was left early, and there are more.
    bool exhausted = true;
    Work before_first_wait;  // by the training thread, once the iterator was made
};

/// What a loop over one loader has to do, free of how the loader is set up and of how
/// many CPUs there are.
struct Workload {
    std::vector<PassWork> passes;
    Work make_worker;   // by the training process, for each worker
    Work worker_start;  // by a worker, before it can take an index
    Work first_fetch;   // what a worker's first batch takes more than others
    Work sampler;       // drawing an index, where nothing is handed over
    /// How many times as long receiving takes while the worker fetches: a thread of the
    /// worker hands the memory over, and for that it needs the GIL.
    double receive_busy_factor = 1;
    double index_latency_ns = 0;  // until an idle worker has an index that was put
    double batch_latency_ns = 0;  // until a waiting thread notices what was sent
};

}  // namespace metatrain_timing::analyzer
