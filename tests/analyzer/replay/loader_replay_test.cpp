#include "analyzer/replay/loader_replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "analyzer/replay/fit.hpp"

namespace metatrain_timing::analyzer {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr double kMs = 1e6;
constexpr Cpus kManyCpus{100, 0};

// A pass over `count` batches that sleep.
PassWork sleeping(std::size_t count, double fetch_ms, double body_ms) {
    PassWork pass;
    pass.turns = count;
    pass.batches.resize(count);
    for (BatchWork& batch : pass.batches) {
        batch.fetch = waiting(fetch_ms * kMs);
        batch.body = waiting(body_ms * kMs);
    }
    return pass;
}

LoaderSettings workers(std::int64_t count, std::int64_t prefetch = 2) {
    LoaderSettings settings;
    settings.num_workers = count;
    settings.prefetch_factor = prefetch;
    return settings;
}

// Waits of the turns of a pass in milliseconds, to the microsecond.
std::vector<double> waits_of(const Replay& replay, std::size_t pass = 0) {
    std::vector<double> waits;
    for (const ReplayedTurn& turn : replay.passes.at(pass).turns) {
        waits.push_back(std::round(turn.wait_ns / 1000) / 1000);
    }
    return waits;
}

std::vector<double> waits_of(const PassWork& pass, const LoaderSettings& settings,
                             const Cpus& cpus = kManyCpus) {
    Workload work;
    work.passes = {pass};
    return waits_of(replay(work, settings, cpus));
}

TEST(LoaderReplay, WithoutWorkersTheLoopMakesEachBatch) {
    Workload work;
    work.passes = {sleeping(3, 30, 20)};
    work.sampler = waiting(1 * kMs);
    EXPECT_THAT(waits_of(replay(work, workers(0), kManyCpus)), ElementsAre(31, 31, 31));
}

TEST(LoaderReplay, OneWorkerWorksWhileTheLoopDoes) {
    EXPECT_THAT(waits_of(sleeping(4, 30, 20), workers(1)), ElementsAre(30, 10, 10, 10));
    EXPECT_THAT(waits_of(sleeping(4, 30, 40), workers(1)), ElementsAre(30, 0, 0, 0));
}

// Batches of two workers come in pairs: the second is there when the first is used, and
// the next pair is waited for: 2 * (30 + 8.5) = 77.
TEST(LoaderReplay, TwoWorkersShareWhatTheLoopWaitsFor) {
    EXPECT_THAT(waits_of(sleeping(6, 77, 30), workers(2)),
                ElementsAre(77, 0, 17, 0, 17, 0));
    EXPECT_THAT(waits_of(sleeping(8, 77, 30), workers(4)),
                ElementsAre(77, 0, 0, 0, 0, 0, 0, 0));
}

// An index is put only when a batch is delivered: with one at a time a worker is idle
// from its fetch to the delivery.
TEST(LoaderReplay, AWorkerWithoutAnIndexStands) {
    EXPECT_THAT(waits_of(sleeping(4, 30, 40), workers(1, 1)), ElementsAre(30, 0, 0, 0));
    PassWork uneven = sleeping(4, 30, 10);
    uneven.batches[0].body = waiting(50 * kMs);
    // Batch 1 is made from 30 to 60; its successor from 80, when it is delivered.
    EXPECT_THAT(waits_of(uneven, workers(1, 1)), ElementsAre(30, 0, 20, 20));
    // With two at a time the successor is made from 60 on.
    EXPECT_THAT(waits_of(uneven, workers(1, 2)), ElementsAre(30, 0, 0, 20));
}

// Worker 1 takes 4 s for a batch, worker 0 no time.
TEST(LoaderReplay, ASlowWorkerHoldsUpTheOthersOnlyInOrder) {
    PassWork pass = sleeping(4, 0, 0);
    pass.batches[1].fetch = pass.batches[3].fetch = waiting(4000 * kMs);
    EXPECT_THAT(waits_of(pass, workers(2)), ElementsAre(0, 4000, 0, 4000));
    LoaderSettings free = workers(2);
    free.in_order = false;
    Workload work;
    work.passes = {pass};
    const Replay replayed = replay(work, free, kManyCpus);
    EXPECT_THAT(waits_of(replayed), ElementsAre(0, 0, 4000, 4000));
    std::vector<std::size_t> order;
    for (const ReplayedTurn& turn : replayed.passes[0].turns) {
        order.push_back(turn.batch);
    }
    EXPECT_THAT(order, ElementsAre(0, 2, 1, 3));
}

TEST(LoaderReplay, SendingOverlapsTheNextFetchAndReceivingTheLoopNot) {
    PassWork pass = sleeping(4, 30, 10);
    for (BatchWork& batch : pass.batches) {
        batch.send = waiting(20 * kMs);
        batch.receive = waiting(5 * kMs);
    }
    // Sent at 50, 80, 110, 140; received 5 later.
    EXPECT_THAT(waits_of(pass, workers(1)), ElementsAre(55, 20, 20, 20));
    LoaderSettings pinned = workers(1);
    pinned.pin_memory = true;
    for (BatchWork& batch : pass.batches) {
        batch.pin = waiting(3 * kMs);
        batch.body = waiting(30 * kMs);
    }
    EXPECT_THAT(waits_of(pass, pinned), ElementsAre(58, 0, 0, 0));
}

TEST(LoaderReplay, ABusyWorkerHandsBatchesOverMoreSlowly) {
    Workload work;
    work.passes = {sleeping(3, 30, 10)};
    for (BatchWork& batch : work.passes[0].batches) {
        batch.receive = waiting(2 * kMs);
    }
    work.receive_busy_factor = 3;
    // The worker has the next index, but for the last batch.
    EXPECT_THAT(waits_of(replay(work, workers(1), kManyCpus)), ElementsAre(36, 20, 16));
    // It has none before its batch is delivered.
    EXPECT_THAT(waits_of(replay(work, workers(1, 1), kManyCpus)),
                ElementsAre(32, 22, 22));
}

TEST(LoaderReplay, WorkersStartOneAfterTheOtherForEachPassUnlessTheyPersist) {
    Workload work;
    work.passes = {sleeping(2, 10, 50), sleeping(2, 10, 50)};
    work.make_worker = waiting(5 * kMs);
    work.worker_start = waiting(100 * kMs);
    work.first_fetch = waiting(7 * kMs);
    // The first is made by 5, ready at 105 and done at 122; the loop waits from 10 on.
    const Replay anew = replay(work, workers(2), kManyCpus);
    EXPECT_DOUBLE_EQ(anew.passes[0].make_ns, 10 * kMs);
    EXPECT_THAT(waits_of(anew, 0), ElementsAre(112, 0));
    EXPECT_THAT(waits_of(anew, 1), ElementsAre(112, 0));
    LoaderSettings keeping = workers(2);
    keeping.persistent_workers = true;
    const Replay kept = replay(work, keeping, kManyCpus);
    EXPECT_THAT(waits_of(kept, 0), ElementsAre(112, 0));
    EXPECT_DOUBLE_EQ(kept.passes[1].make_ns, 0);
    EXPECT_THAT(waits_of(kept, 1), ElementsAre(10, 0));
}

TEST(LoaderReplay, LatenciesFallOnWhoWasWaiting) {
    Workload work;
    work.passes = {sleeping(3, 30, 10)};
    work.index_latency_ns = 2 * kMs;
    work.batch_latency_ns = 1 * kMs;
    // The index lies there when the worker starts; fetched at 30, noticed at 31. The
    // others are queued when it looks for them.
    EXPECT_THAT(waits_of(replay(work, workers(1), kManyCpus)), ElementsAre(31, 20, 20));
    // One at a time: batch 1 is put at 31, taken at 33, fetched at 63, noticed at 64.
    EXPECT_THAT(waits_of(replay(work, workers(1, 1), kManyCpus)),
                ElementsAre(31, 23, 23));
}

TEST(LoaderReplay, APassThatWasLeftEarlyEndsWithItsTurns) {
    PassWork pass = sleeping(3, 30, 20);
    pass.exhausted = false;
    Workload work;
    work.passes = {pass, pass};
    const Replay replayed = replay(work, workers(2, 4), kManyCpus);
    EXPECT_THAT(waits_of(replayed, 0), ElementsAre(30, 0, 0));
    EXPECT_THAT(waits_of(replayed, 1), ElementsAre(30, 0, 0));
}

TEST(LoaderReplay, MoreWorkersThanCpusShareThem) {
    PassWork pass = sleeping(40, 0, 0);
    for (BatchWork& batch : pass.batches) {
        batch.fetch = computing(20 * kMs);
    }
    Workload work;
    work.passes = {pass};
    const Replay replayed = replay(work, workers(4), {2, 0});
    double sum_ns = 0;
    for (const ReplayedTurn& turn : replayed.passes[0].turns) {
        sum_ns += turn.wait_ns;
    }
    EXPECT_NEAR(sum_ns, 40 * 20 * kMs / 2, 1);
    EXPECT_NEAR(replayed.fetch_ns / 40, 40 * kMs, 1);
}

TEST(Fit, LeavesWhatWasRecordedWhereNobodyWaitedForACore) {
    Workload work;
    work.passes = {sleeping(10, 30, 20)};
    const FittedWorkload fitted =
        fit(work, {.turn_ns = 30 * kMs, .fetch_ns = 30 * kMs, .body_ns = 20 * kMs},
            workers(1), 2);
    EXPECT_DOUBLE_EQ(fitted.work.passes[0].batches[3].fetch.wall_ns, 30 * kMs);
    EXPECT_DOUBLE_EQ(fitted.work.passes[0].batches[3].body.wall_ns, 20 * kMs);
    EXPECT_DOUBLE_EQ(fitted.cpus.lost_part, 0);
}

// Four workers computed on two CPUs: what took 40 takes 20 alone.
TEST(Fit, TakesTheWaitsForACoreAway) {
    PassWork pass = sleeping(40, 40, 0);
    for (BatchWork& batch : pass.batches) {
        batch.fetch.cpu_ns = 20 * kMs;
    }
    Workload work;
    work.passes = {pass};
    const RecordedMeans means{
        .turn_ns = 10 * kMs, .fetch_ns = 40 * kMs, .fetch_queued_ns = 20 * kMs};
    const FittedWorkload fitted = fit(work, means, workers(4), 2);
    EXPECT_DOUBLE_EQ(fitted.work.passes[0].batches[5].fetch.wall_ns, 20 * kMs);
    EXPECT_DOUBLE_EQ(fitted.cpus.lost_part, 0);
    // 20 ms of CPU time take 1.5 CPUs 13.3 ms: of 4 asked for a quarter of 2 is lost.
    RecordedMeans slower = means;
    slower.turn_ns = 20.0 / 1.5 * kMs;
    EXPECT_NEAR(fit(work, slower, workers(4), 2).cpus.lost_part, 0.5, 0.01);
    // Nothing that four threads do on two CPUs takes 40 ms a batch.
    slower.turn_ns = 40 * kMs;
    EXPECT_DOUBLE_EQ(
        fit(work, slower, workers(4), 2).work.passes[0].batches[5].fetch.wall_ns,
        40 * kMs);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
