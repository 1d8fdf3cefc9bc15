#include "analyzer/analysis/whatif.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/error.hpp"
#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kMs = ModelBuilder::kMillisecond;

// One worker takes 30 ms for a batch, the body 20: a step takes 30. Nothing else takes
// time.
class OneSlowWorker : public testing::Test {
  protected:
    OneSlowWorker() {
        const auto loader = run_.loader(run_.main(), "data", 1);
        run_.run().loaders.back().prefetch_factor = 2;
        const auto pass = run_.iterator(loader, "train");
        const auto worker = run_.worker(loader, 0, 0, 30 * kSteps);
        for (int batch = 0; batch < kSteps; ++batch) {
            const double made = 30 * (batch + 1);
            run_.add(worker, "fetch", made - 30, made, {pass, batch});
            run_.add(worker, "collate", made - 20, made, {pass, batch});
            run_.add(run_.main(), "loader", batch == 0 ? 0 : made - 10, made,
                     {pass, batch, batch});
            run_.add(run_.main(), "step", made, made + 20, {pass, batch, batch});
            run_.add(run_.main(), "optimizer", made + 18, made + 20,
                     {pass, batch, batch});
        }
    }

    WhatIf ask(const WhatIfQuestion& question) {
        std::string problem;
        const auto answer = ask_what_if(Findings(run_.build()), question, problem);
        EXPECT_TRUE(answer) << problem;
        return answer.value_or(WhatIf());
    }

    static constexpr int kSteps = 40;
    ModelBuilder run_;
};

TEST_F(OneSlowWorker, IsReplayedAsItWasRecorded) {
    const WhatIf answer = ask({});
    ASSERT_EQ(answer.predictions.size(), 1);
    EXPECT_EQ(answer.recorded.num_workers, 1);
    EXPECT_NEAR(answer.recorded_step_ns, 30 * kMs, 1);
    EXPECT_NEAR(answer.predictions[0].step_ns, 30 * kMs, 1);
    EXPECT_NEAR(answer.predictions[0].wait_ns, 10 * kMs, 1);
    EXPECT_EQ(answer.turns, kSteps);
}

TEST_F(OneSlowWorker, WouldBeEnoughIfThereWereTwo) {
    run_.run().processes[0].environment = {{"cpu.granted", "2"}};
    WhatIfQuestion question;
    question.num_workers = {0, 1, 2, 4};
    const WhatIf answer = ask(question);
    ASSERT_EQ(answer.predictions.size(), 4);
    EXPECT_NEAR(answer.predictions[0].step_ns, 50 * kMs, 1);
    EXPECT_NEAR(answer.predictions[2].step_ns, 20 * kMs, 1);
    EXPECT_NEAR(answer.predictions[2].wait_ns, 0, 1);
    EXPECT_NEAR(answer.predictions[3].step_ns, 20 * kMs, 1);
    EXPECT_EQ(answer.best, 2);
}

TEST_F(OneSlowWorker, WaitsLessIfAStageIsFaster) {
    // 10 of the 30 ms less: the loop never waits.
    WhatIfQuestion question;
    question.scale = {{"collate", 0.5}};
    const WhatIf answer = ask(question);
    EXPECT_NEAR(answer.predictions[0].step_ns, 20 * kMs, 1);
}

TEST_F(OneSlowWorker, MayBeAskedOfAnotherLoop) {
    const auto loader = run_.loader(run_.main(), "held out", 0);
    const auto pass = run_.iterator(loader, "evaluation");
    for (int turn = 0; turn < kSteps; ++turn) {
        const double at = 100'000 + 5 * turn;
        run_.add(run_.main(), "loader", at, at + 3, {pass, turn, turn});
        run_.add(run_.main(), "fetch", at, at + 3, {pass, turn, turn});
        run_.add(run_.main(), "step", at + 3, at + 5, {pass, turn, turn});
    }
    EXPECT_EQ(ask({}).phase, "train");
    WhatIfQuestion question;
    question.phase = "evaluation";
    const WhatIf answer = ask(question);
    EXPECT_EQ(answer.phase, "evaluation");
    EXPECT_EQ(answer.loader, "held out");
    EXPECT_NEAR(answer.predictions.at(0).step_ns, 5 * kMs, 1);

    question.phase = "sleep";
    std::string problem;
    try {
        ask_what_if(Findings(run_.build()), question, problem);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::usage);
        EXPECT_STREQ(error.what(),
                     "phase 'sleep': no such phase; there are 'train', 'evaluation'");
    }
}

TEST_F(OneSlowWorker, HasAdviceByWhatItWouldSave) {
    run_.run().processes[0].environment = {{"cpu.granted", "2"}};
    const analyzer::Run run = run_.build();
    const Findings findings(run);
    const Advice advice = advise(findings, make_report(findings));
    EXPECT_EQ(advice.problem, "");
    ASSERT_FALSE(advice.settings.empty());
    EXPECT_EQ(advice.settings[0].prediction.settings.num_workers, 2);
    ASSERT_FALSE(advice.stages.empty());
    EXPECT_EQ(advice.stages[0].stage, "collate");
    EXPECT_NEAR(advice.stages[0].saved_ns, 10 * kMs, 1);
    // The body is hidden: the worker is what a step takes.
    for (const StageSaving& saving : advice.stages) {
        if (saving.stage == "optimizer") {
            EXPECT_NEAR(saving.saved_ns, 0, 1);
        }
    }
}

// As if the worker had computed on the only CPU while the loop did so, too.
TEST_F(OneSlowWorker, HasNoAdviceWhereTheReplayIsNotLikeTheRecord) {
    for (analyzer::Process& process : run_.run().processes) {
        for (analyzer::Track& track : process.tracks) {
            for (std::size_t i = 0; i < track.intervals.size(); ++i) {
                track.cpu_ns[i] = track.intervals[i].dur_ns;
            }
        }
    }
    run_.run().processes[0].environment = {{"cpu.granted", "1"}};
    const analyzer::Run run = run_.build();
    const Findings findings(run);
    const Advice advice = advise(findings, make_report(findings));
    EXPECT_THAT(advice.problem, HasSubstr("replayed as it was recorded"));
    EXPECT_THAT(advice.settings, IsEmpty());
    EXPECT_THAT(advice.stages, IsEmpty());
}

TEST_F(OneSlowWorker, IsReplayedWithACpuForEachWhereNoneAreOnRecord) {
    const WhatIf answer = ask({});
    EXPECT_EQ(answer.cpus, 2);
    ASSERT_EQ(answer.warnings.size(), 2);
    EXPECT_EQ(answer.warnings[1].code, "granted_cpus_unknown");
}

// 2 batches a pass, 30 ms each beside a body of 20, made by the loop itself: workers
// would save 29 ms of 50, and take longer than that to start.
TEST(WhatIf, StartsOfWorkersCountThoughNoneIsOnRecord) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 0);
    for (int epoch = 0; epoch < 20; ++epoch) {
        const auto pass = run.iterator(loader, "train");
        for (int batch = 0; batch < 2; ++batch) {
            const double at = 50 * (2 * epoch + batch);
            run.add(run.main(), "loader", at, at + 30, {pass, batch, 2 * epoch});
            run.add(run.main(), "fetch", at, at + 30, {pass, batch, 2 * epoch});
            run.add(run.main(), "step", at + 30, at + 50, {pass, batch, 2 * epoch});
        }
    }
    run.run().processes[0].environment = {{"cpu.granted", "4"}};
    const analyzer::Run built = run.build();
    const Findings findings(built);
    const Advice advice = advise(findings, make_report(findings));
    EXPECT_EQ(advice.problem, "");
    EXPECT_TRUE(advice.guesses_worker_start);
    EXPECT_THAT(advice.settings, IsEmpty());
}

TEST_F(OneSlowWorker, CannotBeReplayedWithoutItsRecords) {
    run_.run().processes.pop_back();
    std::string problem;
    EXPECT_FALSE(ask_what_if(Findings(run_.build()), {}, problem));
    EXPECT_EQ(problem, "what making the batches took is not on record");
}

// A batch that nobody recorded took what batches take.
TEST_F(OneSlowWorker, IsReplayedWithoutSomeOfItsRecords) {
    auto& fetches = run_.run().processes.back().tracks.front();
    fetches.intervals.erase(fetches.intervals.begin() + 20,
                            fetches.intervals.begin() + 30);
    fetches.cpu_ns.resize(fetches.intervals.size());
    const WhatIf answer = ask({});
    EXPECT_NEAR(answer.predictions[0].step_ns, 30 * kMs, 0.1 * kMs);
}

TEST(WhatIf, NeedsALoopOverOneLoader) {
    ModelBuilder run;
    const auto first = run.iterator(run.loader(run.main(), "a", 0), "train");
    const auto second = run.iterator(run.loader(run.main(), "b", 0), "train");
    for (int batch = 0; batch < 3; ++batch) {
        const double at = 100 * batch;
        run.add(run.main(), "loader", at, at + 10, {first, batch, batch});
        run.add(run.main(), "loader", at + 10, at + 20, {second, batch, batch});
        run.add(run.main(), "step", at + 20, at + 100, {first, batch, batch});
    }
    std::string problem;
    EXPECT_FALSE(ask_what_if(Findings(run.build()), {}, problem));
    EXPECT_THAT(problem, HasSubstr("several DataLoaders"));
    EXPECT_FALSE(ask_what_if(Findings(ModelBuilder().build()), {}, problem));
    EXPECT_THAT(problem, HasSubstr("no loop over a DataLoader"));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
