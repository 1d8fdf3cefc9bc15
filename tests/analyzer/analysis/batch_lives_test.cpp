#include "analyzer/analysis/batch_lives.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/load/query.hpp"
#include "analyzer/render/query_report.hpp"
#include "tests/support/run_builder.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

using analyzer::BatchLife;
using analyzer::Span;

// A training with one worker, and a second pass of which the last batch is on its way.
class BatchLives : public testing::Test {
  protected:
    BatchLives() {
        RunBuilder file(folder_ / "run.db");
        const Id run = file.run("run-1");
        const Id main = file.process(run, {.uuid = "main"});
        const Id worker = file.process(
            run,
            {.uuid = "w0", .parent_uuid = "main", .role = "worker", .worker_id = 0});
        const Id loader = file.loader({.process = main, .num_workers = 1});
        file.serves(worker, loader);
        const Id loop = file.track(main);
        const Id pinning = file.track(main, "pt_data_pin");
        const Id fetching = file.track(worker);
        const Id sending = file.track(worker, "QueueFeederThread");
        for (const std::int64_t number : {1, 2}) {
            const std::int64_t at = 1000 * number;
            const Id pass = file.iterator({.loader = loader,
                                           .number = number,
                                           .epoch = number - 1,
                                           .phase = "train",
                                           .started_ns = at,
                                           .first_wait_ns = at + 20});
            const IntervalSpec outer{.iterator = pass, .batch = 0, .step = 0};
            const IntervalSpec inner{.depth = 1, .iterator = pass, .batch = 0};
            file.interval(loop, "put_index", at, 10, outer);
            file.interval(fetching, "fetch", at + 12, 100,
                          {.iterator = pass, .batch = 0, .cpu_ns = 90});
            file.interval(fetching, "dataset", at + 13, 40, inner);
            file.interval(fetching, "collate", at + 55, 55, inner);
            file.interval(sending, "send", at + 114, 20, outer);
            file.interval(pinning, "receive", at + 135, 5, outer);
            file.interval(pinning, "pin", at + 140, 7, outer);
            file.interval(loop, "loader", at + 20, 130, outer);
            file.interval(loop, "step", at + 150, 200, outer);
        }
        file.interval(loop, "put_index", 2360, 10, {.iterator = 2, .batch = 1});
        file.interval(loop, "loader", 2400, 50, {.iterator = 2, .batch = 1});
    }

    std::string path() const { return folder_ / "run.db"; }

    TempFolder folder_;
};

std::string end_of(const std::optional<Span>& span) {
    return span ? fmt::format("{}", span->end_ns) : "NULL";
}

std::string start_of(const std::optional<Span>& span) {
    return span ? fmt::format("{}", span->start_ns) : "NULL";
}

std::vector<BatchLife> lives_of(const analyzer::Run& run) {
    const analyzer::StageNumbers stages(run);
    const analyzer::BatchIndex index(run, stages);
    std::vector<BatchLife> all;
    for (const analyzer::Pass& pass : analyzer::find_passes(run)) {
        const analyzer::Track& track = run.processes[pass.process].tracks[pass.track];
        for (const analyzer::Turn& turn : pass.turns) {
            all.push_back(find_batch_life(stages, index, track,
                                          pass.waits_of(turn).front(), turn.body));
        }
    }
    return all;
}

TEST_F(BatchLives, AreWhatTheViewShows) {
    const auto answer = analyzer::run_query(
        path(), "",
        "SELECT batch, put_ns, started_ns, read_ns, fetched_ns, sending_ns, sent_ns,"
        " receiving_ns, received_ns, pinned_ns, asked_ns, delivered_ns, used_ns"
        " FROM v_batch ORDER BY iterator_id, batch");
    std::string table = analyzer::query_table(answer, "NULL").csv();
    table.erase(0, table.find('\n') + 1);

    std::string lives;
    for (const BatchLife& life : lives_of(analyzer::load_run(path()))) {
        lives +=
            fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", life.batch,
                        end_of(life.put), start_of(life.fetch), end_of(life.dataset),
                        end_of(life.fetch), start_of(life.send), end_of(life.send),
                        start_of(life.receive), end_of(life.receive), end_of(life.pin),
                        start_of(life.wait), end_of(life.wait), end_of(life.body));
    }
    EXPECT_EQ(lives, table);
    EXPECT_EQ(lives,
              "0,1010,1012,1053,1112,1114,1134,1135,1140,1147,1020,1150,1350\n"
              "0,2010,2012,2053,2112,2114,2134,2135,2140,2147,2020,2150,2350\n"
              "1,2370,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,2400,2450,NULL\n");
}

TEST_F(BatchLives, KnowWhoFetchedAndWhatThatTookOfACpu) {
    const analyzer::Run run = analyzer::load_run(path());
    const auto lives = lives_of(run);
    ASSERT_EQ(lives.size(), 3);
    ASSERT_TRUE(lives[0].process);
    EXPECT_EQ(run.processes[*lives[0].process].uuid, "w0");
    EXPECT_EQ(lives[0].fetch->cpu_ns, 90);
    EXPECT_EQ(lives[0].collate->dur_ns(), 55);
    EXPECT_EQ(lives[0].send->cpu_ns, -1);
    EXPECT_FALSE(lives[2].process);
}

}  // namespace
}  // namespace metatrain_timing::test
