#include <metatrain_timing/recorder/benchmark.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace metatrain_timing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMs = 1'000'000;

/// A training on a clock of its own, in ms.
struct Training {
    std::int64_t epochs = 10;
    std::int64_t batches = 100;  // that the loader has
    bool knows_length = true;
    std::int64_t start_ms = 50;  // until the first batch of a pass
    std::int64_t end_ms = 20;    // between epochs
    std::function<std::int64_t(std::int64_t, std::int64_t)> step_ms =
        [](std::int64_t, std::int64_t) { return 10; };

    std::int64_t now_ns = 7 * kMs;
    std::vector<std::int64_t> visited_epochs = {};
    std::vector<std::int64_t> visited_steps = {};  // warm-up ones too

    void run(Benchmark& benchmark) {
        while (const auto epoch = benchmark.begin_epoch(now_ns)) {
            visited_epochs.push_back(*epoch);
            while (benchmark.begin_step()) {
                run_pass(benchmark, *epoch);
            }
            now_ns += end_ms * kMs;
        }
    }

    void run_pass(Benchmark& benchmark, std::int64_t epoch) {
        benchmark.begin_pass(now_ns,
                             knows_length ? std::optional(batches) : std::nullopt);
        now_ns += start_ms * kMs;
        for (std::int64_t batch = 0; batch < batches; ++batch) {
            const auto step = benchmark.begin_step();
            if (!step) {
                return;
            }
            benchmark.batch_delivered(now_ns);
            visited_steps.push_back(*step);
            now_ns += step_ms(epoch, *step) * kMs;
            benchmark.end_step(now_ns, 8);
        }
        benchmark.end_pass(now_ns);
    }
};

TEST(Benchmark, VisitsTheWindowsOfTheEpochs) {
    Benchmark benchmark({.min_steps = 4, .step_list = {0, 50}, .warmup_steps = 2}, 10);
    Training training;
    training.run(benchmark);
    EXPECT_THAT(training.visited_epochs, ElementsAre(0, 1));
    const std::vector<std::int64_t> one_epoch = {0, 0, 0, 1, 2, 3, 50, 51, 52, 53};
    std::vector<std::int64_t> both = one_epoch;
    both.insert(both.end(), one_epoch.begin(), one_epoch.end());
    EXPECT_EQ(training.visited_steps, both);
    ASSERT_THAT(benchmark.windows(), SizeIs(4));
    EXPECT_EQ(benchmark.windows()[1].first_step, 50);
    EXPECT_EQ(benchmark.windows()[1].steps, 4);
    EXPECT_EQ(benchmark.windows()[1].total_ns, 40 * kMs);
    EXPECT_EQ(benchmark.windows()[1].samples, 32);
    EXPECT_DOUBLE_EQ(benchmark.windows()[1].samples_per_s(), 800);
    EXPECT_EQ(benchmark.windows()[2].epoch, 1);
}

TEST(Benchmark, AStepThatIsDearerFromSomewhereOnCountsFromThereOn) {
    Benchmark benchmark({.min_steps = 20, .step_list = {0, 50}}, 10);
    Training training;
    training.step_ms = [](std::int64_t epoch, std::int64_t step) {
        return (step < 50 ? 10 : 20) + (epoch == 0 ? 5 : 0);
    };
    training.run(benchmark);
    const auto prediction = benchmark.prediction();
    ASSERT_TRUE(prediction);
    // Epoch 0: 50 x 15 + 50 x 25; each of nine others: 50 x 10 + 50 x 20.
    EXPECT_DOUBLE_EQ(prediction->steps_ns, (2'000 + 9 * 1'500) * kMs);
    EXPECT_DOUBLE_EQ(prediction->epoch_starts_ns, 10 * 50 * kMs);
    EXPECT_DOUBLE_EQ(prediction->epoch_ends_ns, 10 * 20 * kMs);
    EXPECT_DOUBLE_EQ(prediction->total_ns, (15'500 + 700) * kMs);
    EXPECT_DOUBLE_EQ(prediction->low_ns, prediction->total_ns);  // nothing varies
    EXPECT_DOUBLE_EQ(prediction->high_ns, prediction->total_ns);
}

TEST(Benchmark, AnEpochThatIsNotVisitedCountsLikeTheOneBefore) {
    Benchmark benchmark(
        {.min_steps = 5, .epoch_list = {0, 7, 3}, .step_list = {0}, .warmup_steps = 0},
        10);
    Training training;
    training.start_ms = training.end_ms = 0;
    training.step_ms = [](std::int64_t epoch, std::int64_t) { return 1 + epoch; };
    training.run(benchmark);
    EXPECT_THAT(training.visited_epochs, ElementsAre(0, 3, 7));
    // 3 epochs of 1 ms, 4 of 4 ms, 3 of 8 ms a step
    EXPECT_DOUBLE_EQ(benchmark.prediction()->total_ns, 100 * (3 + 16 + 24) * kMs);
}

TEST(Benchmark, AllEpochsAreVisitedOnRequest) {
    Benchmark benchmark(
        {.min_steps = 1, .epoch_list = {}, .step_list = {0}, .all_epochs = true}, 4);
    Training training;
    training.run(benchmark);
    EXPECT_THAT(training.visited_epochs, ElementsAre(0, 1, 2, 3));
}

TEST(Benchmark, AWindowEndsWithItsEpoch) {
    Benchmark benchmark({.min_steps = 50, .epoch_list = {0}, .step_list = {90, 0, 200}},
                        1);
    Training training;
    training.run(benchmark);
    ASSERT_THAT(benchmark.windows(), SizeIs(2));  // no step 200 of 100
    EXPECT_EQ(benchmark.windows()[0].steps, 50);
    EXPECT_EQ(benchmark.windows()[1].first_step, 90);
    EXPECT_EQ(benchmark.windows()[1].steps, 10);
}

TEST(Benchmark, AnotherPassGoesOnWhereTheBatchesRanOut) {
    Benchmark benchmark(
        {.min_steps = 6, .epoch_list = {0}, .step_list = {0, 6}, .warmup_steps = 1}, 1);
    Training training;
    training.batches = 5;
    training.knows_length = false;
    training.step_ms = [](std::int64_t, std::int64_t step) { return 1 + step; };
    training.run(benchmark);
    // Each pass of 5 begins with one that is not counted.
    EXPECT_THAT(training.visited_steps,
                ElementsAre(0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11));
    ASSERT_THAT(benchmark.windows(), SizeIs(2));
    EXPECT_EQ(benchmark.windows()[0].total_ns, (1 + 2 + 3 + 4 + 5 + 6) * kMs);
    EXPECT_EQ(benchmark.windows()[1].total_ns, (7 + 8 + 9 + 10 + 11 + 12) * kMs);
    EXPECT_FALSE(benchmark.prediction());  // nobody knows how long an epoch is
}

TEST(Benchmark, StartsOfWorkersAndWarmUpAreInNoWindow) {
    Benchmark benchmark(
        {.min_steps = 3, .epoch_list = {0}, .step_list = {0}, .warmup_steps = 2}, 1);
    Training training;
    training.start_ms = 5'000;
    std::int64_t calls = 0;
    training.step_ms = [&](std::int64_t, std::int64_t) {
        return ++calls <= 2 ? 900 : 10;
    };
    training.run(benchmark);
    EXPECT_EQ(benchmark.windows().at(0).total_ns, 30 * kMs);
    EXPECT_DOUBLE_EQ(benchmark.prediction()->epoch_starts_ns, 5'000 * kMs);
}

TEST(Benchmark, TheIntervalIsOfTheSpreadOfBlocks) {
    Benchmark benchmark(
        {.min_steps = 20, .epoch_list = {0}, .step_list = {0}, .warmup_steps = 0}, 1);
    Training training;
    training.start_ms = training.end_ms = 0;
    // Ten blocks of two: means 10, 12, 10, 12, ...
    training.step_ms = [](std::int64_t, std::int64_t step) {
        return 10 + step / 2 % 2 * 2;
    };
    training.run(benchmark);
    // sd of the means: 2 x sqrt(10 / 36) = 1.0541; of their mean: 1/3 ms
    ASSERT_TRUE(benchmark.windows().at(0).step_error_ns);
    EXPECT_NEAR(*benchmark.windows()[0].step_error_ns, kMs / 3.0, 1);
    const auto prediction = benchmark.prediction();
    EXPECT_DOUBLE_EQ(prediction->total_ns, 1'100 * kMs);
    EXPECT_NEAR(prediction->high_ns - prediction->total_ns, 2.262 * 100 * kMs / 3, 1e3);
    EXPECT_NEAR(prediction->total_ns - prediction->low_ns, 2.262 * 100 * kMs / 3, 1e3);
}

TEST(Benchmark, SamplesOfAllRanksReplaceThoseOfOne) {
    Benchmark benchmark({.min_steps = 2, .epoch_list = {0}, .step_list = {0}}, 1);
    benchmark.set_samples(3);  // no window yet
    Training training;
    training.run(benchmark);
    benchmark.set_samples(64);
    EXPECT_EQ(benchmark.windows().at(0).samples, 64);
}

TEST(Benchmark, BeforeTheFirstWindowThereIsNothingToSay) {
    Benchmark benchmark({}, 2);
    EXPECT_THAT(benchmark.windows(), IsEmpty());
    EXPECT_FALSE(benchmark.prediction());
    EXPECT_FALSE(benchmark.begin_step());
}

void expect_refused(const BenchmarkPlan& plan, std::int64_t epochs,
                    const std::string& text) {
    try {
        Benchmark benchmark(plan, epochs);
        ADD_FAILURE() << "taken: " << text;
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
}

TEST(Benchmark, RefusesPlansThatTellNothing) {
    expect_refused({.epoch_list = {}}, 1, "epoch_list is empty");
    expect_refused({.step_list = {}}, 1, "step_list is empty");
    expect_refused({.epoch_list = {1}}, 1, "epoch_list does not hold 0");
    expect_refused({.step_list = {5, 9}}, 1, "step_list does not hold 0");
    expect_refused({.step_list = {0, -2}}, 1, "step_list has -2");
    expect_refused({.min_steps = 0}, 1, "min_steps is 0");
    expect_refused({.warmup_steps = -1}, 1, "warmup_steps is -1");
    expect_refused({}, 0, "at least 1 epoch");
    EXPECT_NO_THROW(Benchmark({.epoch_list = {3}, .all_epochs = true}, 1));
}

}  // namespace
}  // namespace metatrain_timing
