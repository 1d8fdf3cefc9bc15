#include "analyzer/analysis/step_series.hpp"

#include <gtest/gtest.h>

#include "analyzer/analysis/report.hpp"
#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;

constexpr double kMs = ModelBuilder::kMillisecond;

// Adds a turn that lasts from `at` on and returns its end.
double add_turn(ModelBuilder& run, std::int32_t pass, double at, int batch, int step,
                double wait, double body, bool optimizer, std::int64_t rank = 0) {
    const test::At where{pass, batch, step};
    run.add(run.main(rank), "loader", at, at + wait, where);
    run.add(run.main(rank), "step", at + wait, at + wait + body, where);
    if (optimizer) {
        run.add(run.main(rank), "optimizer", at + wait, at + wait + 1, where);
    }
    return at + wait + body;
}

StepSeries steps_of(ModelBuilder& builder) {
    const auto run = builder.build();
    return make_report(Findings(run)).phases.at(0).steps;
}

TEST(StepSeries, CountsOptimizerStepsAndTheirTurnsApart) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train");
    double at = 0;
    for (int turn = 0; turn < 40; ++turn) {
        const bool last_of_step = turn % 4 == 3;
        at = add_turn(run, pass, at, turn, turn / 4, 2, last_of_step ? 50 : 8,
                      last_of_step);
    }

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steps, 10);
    EXPECT_EQ(steps.micro_steps, 40);
    EXPECT_EQ(steps.partial_steps, 0);
    EXPECT_TRUE(steps.accumulates);
    // the first step begins the pass and is left out
    EXPECT_EQ(steps.steady_steps, 9);
    EXPECT_EQ(steps.steady_from_step, 1);
    EXPECT_DOUBLE_EQ(steps.step->mean_ns, 82 * kMs);    // 3 x 10 + 52
    EXPECT_DOUBLE_EQ(steps.turn->mean_ns, 20.5 * kMs);  // a quarter
    EXPECT_DOUBLE_EQ(steps.turn->median_ns, 10 * kMs);
}

TEST(StepSeries, WithoutOptimizerEveryTurnIsAStep) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "evaluation");
    double at = 0;
    for (int turn = 0; turn < 3; ++turn) {
        at = add_turn(run, pass, at, turn, 17, 1, 9, false);
    }

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steps, 3);
    EXPECT_EQ(steps.micro_steps, 3);
    EXPECT_FALSE(steps.accumulates);
    EXPECT_EQ(steps.steady_from_step, 1);
}

TEST(StepSeries, SevenEpochsOfTenStepsAreSeventy) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 0);
    double at = 0;
    for (int epoch = 0; epoch < 7; ++epoch) {
        const auto pass = run.iterator(loader, "train");
        for (int turn = 0; turn < 10; ++turn) {
            at = add_turn(run, pass, at, turn, 10 * epoch + turn, 1, 9, true);
        }
        run.add(run.main(), "loader_end", at, at + 5, {pass, -1, 10 * epoch + 10});
        at += 5;
    }

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steps, 70);
    EXPECT_EQ(steps.micro_steps, 70);
    EXPECT_EQ(steps.epochs, 7);
    EXPECT_EQ(steps.steady_steps, 63);  // without the first of each epoch
}

TEST(StepSeries, SlowFirstBatchesOfEpochsDoNotTouchTheSteadySteps) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 4);
    double at = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
        const auto pass = run.iterator(loader, "train");
        for (int turn = 0; turn < 20; ++turn) {
            at = add_turn(run, pass, at, turn, 20 * epoch + turn, turn == 0 ? 1000 : 1,
                          29, true);
        }
    }

    const StepSeries steps = steps_of(run);

    EXPECT_DOUBLE_EQ(steps.step->mean_ns, 30 * kMs);
    EXPECT_DOUBLE_EQ(steps.step->p99_ns, 30 * kMs);
    EXPECT_EQ(steps.steady_steps, 57);
}

TEST(StepSeries, WhereEveryStepBeginsAnEpochAllButTheFirstCount) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 0);
    double at = 0;
    for (int epoch = 0; epoch < 4; ++epoch) {
        at = add_turn(run, run.iterator(loader, "train"), at, 0, epoch, 1,
                      epoch == 0 ? 90 : 9, true);
    }

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steady_steps, 3);
    EXPECT_DOUBLE_EQ(steps.step->mean_ns, 10 * kMs);
}

TEST(StepSeries, APartialStepIsCountedAndMeasuredNowhere) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train", false);
    double at = 0;
    for (int turn = 0; turn < 57; ++turn) {
        at = add_turn(run, pass, at, turn, turn, 1, 9, true);
    }
    run.add(run.main(), "loader", at, at + 1, {pass, 57, 57});
    run.add_open(run.main(), "step", at + 1, {pass, 57, 57});

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steps, 57);
    EXPECT_EQ(steps.partial_steps, 1);
    EXPECT_EQ(steps.steady_steps, 56);
}

TEST(StepSeries, WithoutACompleteStepThereIsNoTime) {
    ModelBuilder run;
    const auto pass =
        run.iterator(run.loader(run.main(), "data", 0), "evaluation", false);
    run.add(run.main(), "loader", 0, 10, {pass, 0, 0});
    run.add_open(run.main(), "step", 10, {pass, 0, 0});

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steps, 0);
    EXPECT_EQ(steps.partial_steps, 1);
    EXPECT_FALSE(steps.step.has_value());
    EXPECT_EQ(steps.steady_from_step, std::nullopt);
}

TEST(StepSeries, StepsOfRanksAreNotAddedUp) {
    ModelBuilder run;
    for (int rank = 0; rank < 2; ++rank) {
        const auto pass = run.iterator(run.loader(run.main(rank), "data", 0), "train");
        double at = 0;
        for (int turn = 0; turn < 5; ++turn) {
            at = add_turn(run, pass, at, turn, turn, 1, rank == 0 ? 9 : 19, true, rank);
        }
    }

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steps, 5);
    EXPECT_EQ(steps.steady_steps, 8);
    EXPECT_DOUBLE_EQ(steps.step->mean_ns, 15 * kMs);
}

TEST(StepSeries, AWarmUpIsLeftOut) {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train");
    double at = 0;
    for (int turn = 0; turn < 101; ++turn) {
        at = add_turn(run, pass, at, turn, turn, 1, turn < 11 ? 99 : 9, true);
    }

    const StepSeries steps = steps_of(run);

    EXPECT_EQ(steps.steady_from_step, 11);
    EXPECT_EQ(steps.steady_steps, 90);
    EXPECT_DOUBLE_EQ(steps.step->mean_ns, 10 * kMs);
    EXPECT_EQ(steps.steps, 101);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
