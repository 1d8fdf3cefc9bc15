#include "analyzer/analysis/wait_causes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include <map>
#include <string>

#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;
using testing::Contains;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr std::int64_t kMs = ModelBuilder::kMillisecond;

// "cause/stage" and "cause/stage@worker" to milliseconds; rows of nothing left out.
std::map<std::string, std::int64_t> causes_of(const Run& run) {
    std::map<std::string, std::int64_t> causes;
    const auto all = find_wait_causes(Findings(run));
    for (const WaitCause& cause : all.at(0).causes) {
        if (cause.total_ns > 0) {
            const std::string worker =
                cause.worker ? "@" + std::to_string(*cause.worker) : "";
            causes[cause.cause + "/" + cause.stage + worker] = cause.total_ns / kMs;
        }
    }
    return causes;
}

TEST(WaitCauses, WithoutWorkersTheWaitIsWhatTheThreadItselfDid) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train");
    run.add(run.main(), "loader", 0, 100, {pass, 0, 0});
    run.add(run.main(), "sampler", 1, 4, {pass, 0, 0});
    run.add(run.main(), "fetch", 5, 95, {pass, 0, 0});
    run.add(run.main(), "dataset", 5, 45, {pass, 0, 0});
    run.add(run.main(), "collate", 45, 93, {pass, 0, 0});
    run.add(run.main(), "serialize", 60, 70, {pass, 0, 0});
    run.add(run.main(), "step", 100, 120, {pass, 0, 0});

    EXPECT_THAT(
        causes_of(run.build()),
        UnorderedElementsAre(Pair("main/sampler", 3), Pair("main/dataset", 40),
                             Pair("main/collate", 38), Pair("main/serialize", 10),
                             Pair("main/fetch", 2), Pair("unattributed/", 7)));
}

// Worker 1 makes batch 0; the wait for it lasts from 0 to 100.
class WaitForAWorker : public testing::Test {
  protected:
    WaitForAWorker()
        : loader_(run_.loader(run_.main(), "data", 2)),
          pass_(run_.iterator(loader_, "train")),
          worker_(run_.worker(loader_, 1, -50, 200)) {
        run_.add(run_.main(), "loader", 0, 100, {pass_, 0, 0});
        run_.add(run_.main(), "step", 100, 120, {pass_, 0, 0});
    }

    void in_worker(const char* stage, double start, double end, int batch = 0) {
        run_.add(worker_, stage, start, end, {pass_, batch});
    }
    void in_sender(const char* stage, double start, double end, int batch = 0) {
        run_.add(worker_, stage, start, end, {pass_, batch}, "QueueFeederThread");
    }
    std::map<std::string, std::int64_t> causes() { return causes_of(run_.build()); }

    ModelBuilder run_;
    std::int32_t loader_;
    std::int32_t pass_;
    std::int32_t worker_;
};

TEST_F(WaitForAWorker, IsForWhatItDidWithTheBatch) {
    in_worker("fetch", -20, 60);
    in_worker("dataset", -20, 10);
    in_worker("collate", 12, 58);
    in_sender("send", 62, 72);
    run_.add(run_.main(), "receive", 80, 95, {pass_, 0, 0});

    EXPECT_THAT(causes(), UnorderedElementsAre(
                              Pair("fetch/dataset@1", 10), Pair("fetch/collate@1", 46),
                              Pair("fetch/fetch@1", 4), Pair("send/send@1", 10),
                              Pair("main/receive", 15), Pair("ready/", 13),
                              Pair("unattributed/", 2)));
}

TEST_F(WaitForAWorker, IsForItsStartAndItsIdleness) {
    in_worker("worker_start", -50, 30);
    in_worker("worker_idle", 30, 45);
    in_worker("fetch", 45, 90);
    in_sender("send", 90, 100);

    EXPECT_THAT(causes(), UnorderedElementsAre(Pair("worker_start/worker_start@1", 30),
                                               Pair("worker_idle/worker_idle@1", 15),
                                               Pair("fetch/fetch@1", 45),
                                               Pair("send/send@1", 10)));
}

TEST_F(WaitForAWorker, IsForEarlierBatchesThatKeptItBusy) {
    in_worker("fetch", -40, 30, 7);
    in_worker("collate", 5, 30, 7);
    in_worker("fetch", 30, 60, 0);
    in_sender("send", 30, 75, 7);
    in_sender("send", 75, 80, 0);

    EXPECT_THAT(causes(),
                UnorderedElementsAre(Pair("earlier_batch/fetch@1", 5),
                                     Pair("earlier_batch/collate@1", 25),
                                     Pair("fetch/fetch@1", 30), Pair("send/send@1", 20),
                                     Pair("ready/", 20)));
}

TEST_F(WaitForAWorker, GoesByTheOtherThreadThatReceivesAndPins) {
    in_worker("fetch", -20, 10);
    in_sender("send", 10, 20);
    run_.add(run_.main(), "receive", 30, 60, {pass_, 0}, "pt_data_pin");
    run_.add(run_.main(), "pin", 60, 90, {pass_, 0}, "pt_data_pin");

    EXPECT_THAT(causes(),
                UnorderedElementsAre(Pair("fetch/fetch@1", 10), Pair("send/send@1", 10),
                                     Pair("ready/", 20), Pair("receive/receive", 30),
                                     Pair("pin/pin", 30)));
}

// The row of the loader may be missing in a damaged file.
TEST_F(WaitForAWorker, IsToldWithoutItsLoader) {
    in_worker("fetch", -20, 60);
    in_sender("send", 60, 100);
    run_.run().iterators[0].loader = -1;

    EXPECT_THAT(causes(), UnorderedElementsAre(Pair("fetch/fetch@1", 60),
                                               Pair("send/send@1", 40)));
}

TEST_F(WaitForAWorker, IsUnattributedWhereTheBatchIsNotOnRecord) {
    in_worker("fetch", -20, 60, 3);

    EXPECT_THAT(causes(), UnorderedElementsAre(Pair("unattributed/", 100)));
}

std::int64_t sum_of(const std::map<std::string, std::int64_t>& causes) {
    return std::accumulate(
        causes.begin(), causes.end(), std::int64_t{0},
        [](std::int64_t sum, const auto& cause) { return sum + cause.second; });
}

// Records of a worker whose clock is an hour ahead explain nothing.
TEST_F(WaitForAWorker, IsUnattributedWhereItsClockIsAhead) {
    constexpr double kHour = 3.6e6;
    in_worker("fetch", kHour - 20, kHour + 60);
    in_sender("send", kHour + 62, kHour + 72);
    run_.add(run_.main(), "receive", 80, 95, {pass_, 0, 0});

    EXPECT_THAT(causes(), UnorderedElementsAre(Pair("main/receive", 15),
                                               Pair("unattributed/", 85)));
}

TEST_F(WaitForAWorker, ClosesWhereItsClockIsBehind) {
    constexpr double kHour = 3.6e6;
    in_worker("fetch", -kHour - 20, -kHour + 60);
    in_sender("send", -kHour + 62, -kHour + 72);
    run_.add(run_.main(), "receive", 80, 95, {pass_, 0, 0});

    const auto found = causes();
    EXPECT_EQ(sum_of(found), 100);
    EXPECT_EQ(found.at("main/receive"), 15);
}

// The worker's file ends in the middle of the fetch, the loop's in the wait for it.
TEST_F(WaitForAWorker, OfARunThatWasCutCloses) {
    run_.add(run_.main(), "loader", 120, 150, {pass_, 1, 1});
    in_worker("fetch", -20, 60);
    in_worker("dataset", 65, 90, 1);  // of a fetch that did not end
    run_.add_open(worker_, "fetch", 62, {pass_, 1});

    const auto found = causes();
    EXPECT_EQ(sum_of(found), 130);
    EXPECT_EQ(found.at("fetch/fetch@1"), 60);
    EXPECT_EQ(found.at("unattributed/"), 70);
}

TEST_F(WaitForAWorker, IsCutExactly) {
    in_worker("worker_start", -50, 1.000001);
    in_worker("fetch", 2.5, 60.123457);
    in_worker("collate", 3.3, 59.999999);
    in_sender("send", 61, 70.7);
    run_.add(run_.main(), "receive", 80.1, 95.7, {pass_, 0, 0});

    const auto run = run_.build();
    std::int64_t sum_ns = 0;
    double sum = 0;
    const auto all = find_wait_causes(Findings(run));
    for (const WaitCause& cause : all.at(0).causes) {
        sum_ns += cause.total_ns;
        sum += cause.share;
    }
    EXPECT_EQ(sum_ns, 100 * kMs);
    EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(WaitCauses, OfEachZippedLoaderAreItsOwnWorkers) {
    ModelBuilder run;
    const auto a_loader = run.loader(run.main(), "a", 1);
    const auto b_loader = run.loader(run.main(), "b", 1);
    const auto a = run.iterator(a_loader, "train");
    const auto b = run.iterator(b_loader, "train");
    run.add(run.main(), "loader", 0, 50, {a, 0, 0});
    run.add(run.main(), "loader", 50, 90, {b, 0, 0});
    run.add(run.main(), "step", 90, 100, {a, 0, 0});
    run.add(run.worker(a_loader, 0, 0, 100), "fetch", 0, 50, {a, 0});
    const auto b_worker = run.worker(b_loader, 0, 0, 100);
    run.add(b_worker, "fetch", 0, 90, {b, 0});
    run.add(b_worker, "collate", 60, 90, {b, 0});

    EXPECT_THAT(
        causes_of(run.build()),
        UnorderedElementsAre(Pair("fetch/fetch@0", 60), Pair("fetch/collate@0", 30)));
}

TEST(WaitCauses, AreKnownOfEachEpochAndRank) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 1);
    const auto worker = run.worker(loader, 0, 0, 1000);
    for (int epoch = 0; epoch < 2; ++epoch) {
        const auto pass = run.iterator(loader, "train");
        const double at = 500 * epoch;
        run.add(run.main(), "loader", at, at + 100, {pass, 0, epoch});
        run.add(run.main(), "put_index", at, at + 10, {pass, 1, epoch});
        run.add(run.main(), "step", at + 100, at + 200, {pass, 0, epoch});
        const double fetched = at + (epoch == 0 ? 100 : 60);
        run.add(worker, "fetch", at, fetched, {pass, 0});
    }
    const auto passes = find_wait_causes(Findings(run.build())).at(0).passes;

    ASSERT_EQ(passes.size(), 2U);
    EXPECT_EQ(passes[0].epoch, 0);
    EXPECT_THAT(passes[0].causes,
                ElementsAre(Pair("fetch", 90 * kMs), Pair("main", 10 * kMs)));
    EXPECT_EQ(passes[1].epoch, 1);
    EXPECT_EQ(passes[1].total_ns, 100 * kMs);
    EXPECT_THAT(passes[1].causes,
                ElementsAre(Pair("fetch", 50 * kMs), Pair("main", 10 * kMs),
                            Pair("unattributed", 40 * kMs)));
    EXPECT_EQ(passes[1].summed_ns, 0);
}

TEST(WaitCauses, UnattributedClosesTheTableEvenWhenItIsNothing) {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 0), "train");
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add(builder.main(), "fetch", 0, 10, {pass, 0, 0});
    builder.add(builder.main(), "step", 10, 20, {pass, 0, 0});
    const auto run = builder.build();

    const auto causes = find_wait_causes(Findings(run)).at(0).causes;

    ASSERT_EQ(causes.size(), 2U);
    EXPECT_EQ(causes[1].cause, "unattributed");
    EXPECT_EQ(causes[1].total_ns, 0);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
