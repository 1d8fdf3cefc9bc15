#include "analyzer/analysis/stage_scale.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::analyzer {
namespace {

StageRow row(const std::string& stage, std::size_t level, std::int64_t total_ns,
             std::optional<std::int64_t> cpu_ns = std::nullopt) {
    StageRow result;
    result.stage = stage;
    result.level = level;
    result.total_ns = total_ns;
    result.cpu_ns = cpu_ns;
    return result;
}

// A fetch of 100 (CPU 80): dataset 20, collate 75 with serialize 30 (CPU 24); a body of
// 200 with forward 50.
Breakdown workers() {
    Breakdown time;
    time.worker = {row("fetch", 0, 100, 80),  row("dataset", 1, 20, 2),
                   row("collate", 1, 75, 76), row("serialize", 2, 30, 24),
                   row("unattributed", 1, 5), row("worker_idle", 0, 900)};
    time.worker_sender = {row("send", 0, 10)};
    time.main = {row("loader", 0, 40), row("receive", 1, 10), row("step", 0, 200),
                 row("forward", 1, 50), row("unattributed", 1, 150)};
    return time;
}

StageScale scale_of(const Breakdown& time,
                    const std::map<std::string, double>& factors) {
    std::string problem;
    const auto scale = find_stage_scale(time, factors, problem);
    EXPECT_TRUE(scale) << problem;
    return scale.value_or(StageScale());
}

TEST(StageScale, OfAPartIsByItsShareOfTheWhole) {
    const StageScale half = scale_of(workers(), {{"serialize", 0.5}});
    EXPECT_DOUBLE_EQ(half.fetch, 1 - 0.15);
    EXPECT_DOUBLE_EQ(half.fetch_cpu, 1 - 0.15);
    EXPECT_DOUBLE_EQ(half.body, 1);
    const StageScale read = scale_of(workers(), {{"dataset", 0}});
    EXPECT_DOUBLE_EQ(read.fetch, 0.8);
    EXPECT_DOUBLE_EQ(read.fetch_cpu, 78.0 / 80);
    const StageScale slower = scale_of(workers(), {{"forward", 3}});
    EXPECT_DOUBLE_EQ(slower.body, 1.5);
    EXPECT_DOUBLE_EQ(slower.fetch, 1);
}

TEST(StageScale, OfAWholeIsItself) {
    EXPECT_DOUBLE_EQ(scale_of(workers(), {{"fetch", 0.25}}).fetch, 0.25);
    EXPECT_DOUBLE_EQ(scale_of(workers(), {{"step", 2}}).body, 2);
    EXPECT_DOUBLE_EQ(scale_of(workers(), {{"send", 0.5}}).send, 0.5);
    EXPECT_DOUBLE_EQ(scale_of(workers(), {{"receive", 0}}).receive, 0);
}

TEST(StageScale, OfSeveralAddsUp) {
    const StageScale both = scale_of(workers(), {{"serialize", 0}, {"dataset", 0.5}});
    EXPECT_DOUBLE_EQ(both.fetch, 1 - 0.3 - 0.1);
    // A part of a part is not saved twice.
    EXPECT_DOUBLE_EQ(scale_of(workers(), {{"fetch", 0}, {"collate", 0}}).fetch, 0);
}

TEST(StageScale, FindsTheFetchOfTheTrainingProcess) {
    Breakdown time;
    time.main = {row("loader", 0, 120), row("fetch", 1, 100), row("collate", 2, 60),
                 row("step", 0, 30)};
    EXPECT_DOUBLE_EQ(scale_of(time, {{"collate", 0.5}}).fetch, 0.7);
}

TEST(StageScale, OfAnUnknownStageIsAProblem) {
    std::string problem;
    EXPECT_FALSE(find_stage_scale(workers(), {{"worker_idle", 0.5}}, problem));
    EXPECT_EQ(problem, "no stage of a batch is called 'worker_idle'");
}

}  // namespace
}  // namespace metatrain_timing::analyzer
