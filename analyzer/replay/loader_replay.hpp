#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/replay/cpus.hpp"
#include "analyzer/replay/workload.hpp"

namespace metatrain_timing::analyzer {

/// One turn of the replayed loop.
struct ReplayedTurn {
    std::size_t batch = 0;  // of its pass
    double wait_ns = 0;
    double body_ns = 0;

    double turn_ns() const { return wait_ns + body_ns; }
};

struct ReplayedPass {
    double make_ns = 0;  // making the iterator and its workers
    std::vector<ReplayedTurn> turns;
};

struct Replay {
    std::vector<ReplayedPass> passes;
    double fetch_ns = 0;  // walls of all fetches, as they were stretched
};

/// Replays a loop over a DataLoader with these settings.
///
/// A discrete-event model of torch 2.13's torch.utils.data.dataloader: workers are
/// started one after another; prefetch_factor times num_workers indices are put before
/// the first wait, in turn, and one more whenever a batch is delivered; each worker has
/// a queue of indices and a thread that sends its batches in their order; batches that
/// came too early lie ready until it is their turn; with in_order=False they are
/// delivered as they come, and indices go to workers that have less than
/// prefetch_factor of them. With pin_memory a thread receives and pins.
///
/// Pure. Cost: about 1 us a batch and agent.
Replay replay(const Workload& workload, const LoaderSettings& settings,
              const Cpus& cpus);

/// The turns of a replay of `workload` that count as steady, in order.
std::vector<ReplayedTurn> steady_turns(const Workload& workload, const Replay& replay);

}  // namespace metatrain_timing::analyzer
