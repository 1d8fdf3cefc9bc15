#include "analyzer/analysis/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/analysis/history_question.hpp"
#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kMs = 1e6;

// Deviations of -0.5 to +0.5 % that follow no order.
double deviation(std::size_t i) {
    return 0.005 * (static_cast<double>(i * 7919 % 101) / 50 - 1);
}

// A run whose step waits and computes, in milliseconds.
RunDigest run(std::size_t i, double wait, double compute) {
    RunDigest digest;
    digest.path = "run" + std::to_string(i) + ".db";
    digest.uuid = std::to_string(i);
    digest.started_unix_ns = static_cast<std::int64_t>(i) * 1'000'000'000;
    digest.workload = {{"phase", "train"}};
    digest.settings = {{"torch.version", "2.12"}};
    digest.steps = 1000;
    digest.stages = {{{"loader"}, wait * kMs},
                     {{"loader", "collate"}, wait * kMs},
                     {{"step"}, compute * kMs}};
    digest.fetches = {{{"fetch"}, 2 * wait * kMs}};
    digest.step_ns = (wait + compute) * kMs;
    digest.median_ns = digest.step_ns;
    return digest;
}

std::vector<RunDigest> runs(
    std::size_t count,
    const std::function<double(std::size_t)>& wait = [](std::size_t) { return 4.0; }) {
    std::vector<RunDigest> list;
    for (std::size_t i = 0; i < count; ++i) {
        list.push_back(run(i, wait(i), 36 * (1 + deviation(i))));
    }
    return list;
}

TEST(History, RunsOfTheSameAreTheSame) {
    const auto list = runs(30);
    const History history = make_history(list, {});
    ASSERT_EQ(history.series.size(), 1U);
    const HistorySeries& series = history.series.front();
    EXPECT_EQ(series.verdict, HistoryVerdict::same);
    EXPECT_EQ(series.newest.verdict, NewestVerdict::normal);
    EXPECT_TRUE(series.changes.empty());
    EXPECT_TRUE(series.spikes.empty());
    EXPECT_FALSE(series.drift);
}

TEST(History, AChangeHasItsStageAndItsSettings) {
    auto list = runs(40, [](std::size_t i) { return i < 17 ? 4.0 : 8.0; });
    for (std::size_t i = 17; i < list.size(); ++i) {
        list[i].settings["torch.version"] = "2.13";
    }
    const History history = make_history(list, {});
    const HistorySeries& series = history.series.front();
    ASSERT_EQ(series.changes.size(), 1U);
    const HistoryChange& change = series.changes.front();
    EXPECT_EQ(change.run, 17U);
    EXPECT_NEAR(change.relative.value(), 0.1, 0.003);
    EXPECT_LT(change.low.value(), change.relative.value());
    EXPECT_GT(change.high.value(), change.relative.value());
    EXPECT_GT(change.low.value(), 0.09);
    ASSERT_EQ(change.stages.size(), 3U);
    EXPECT_NEAR(change.stages[1].difference_ns(), 4 * kMs, 1);
    EXPECT_NEAR(change.stages[0].difference_ns() + change.stages[2].difference_ns(),
                change.after_ns - change.before_ns, 0.001 * kMs);
    ASSERT_EQ(change.changed.size(), 1U);
    EXPECT_EQ(change.changed[0].key, "torch.version");
    EXPECT_EQ(change.changed[0].before, "2.12");
    EXPECT_EQ(change.changed[0].after, "2.13");
    // long ago: the newest runs are as those before them
    EXPECT_EQ(series.verdict, HistoryVerdict::same);
}

TEST(History, AChangeWithinTheLastFiveRunsIsNews) {
    const auto list = runs(40, [](std::size_t i) { return i < 35 ? 4.0 : 8.0; });
    const History history = make_history(list, {});
    const HistorySeries& series = history.series.front();
    ASSERT_EQ(series.changes.size(), 1U);
    EXPECT_EQ(series.changes.front().run, 35U);
    EXPECT_EQ(series.verdict, HistoryVerdict::regressed);
    EXPECT_EQ(check_history({"new-changepoint"}, history).result, GateResult::failed);
    EXPECT_EQ(check_history({"regressed", "inconclusive"}, history).result,
              GateResult::failed);
    EXPECT_EQ(check_history({"improved"}, history).result, GateResult::passed);
}

TEST(History, FasterIsImproved) {
    const auto list = runs(40, [](std::size_t i) { return i < 35 ? 8.0 : 4.0; });
    EXPECT_EQ(make_history(list, {}).series.front().verdict, HistoryVerdict::improved);
}

TEST(History, ALoneSpikeIsNoChange) {
    const auto list = runs(40, [](std::size_t i) { return i == 20 ? 30.0 : 4.0; });
    const HistorySeries series = make_history(list, {}).series.front();
    EXPECT_TRUE(series.changes.empty());
    EXPECT_EQ(series.spikes, std::vector<std::size_t>{20});
    EXPECT_NEAR(series.level_ns.front(), 40 * kMs, 0.1 * kMs);  // without the spike
    EXPECT_EQ(series.verdict, HistoryVerdict::same);
}

TEST(History, NeighboursThatAreOddTogetherAreNoSpikes) {
    const auto list =
        runs(14, [](std::size_t i) { return i >= 10 && i < 13 ? 8.0 : 4.0; });
    const HistorySeries series = make_history(list, {}).series.front();
    EXPECT_TRUE(series.spikes.empty());
    ASSERT_EQ(series.stretches.size(), 1U);
    EXPECT_EQ(series.stretches[0].begin, 10U);
    EXPECT_EQ(series.stretches[0].end, 13U);
    EXPECT_GT(series.level_ns.front(), 40.5 * kMs);  // they count
}

TEST(History, RunsByTurnsAreNoSpikes) {
    const auto list =
        runs(20, [](std::size_t i) { return i < 16 && i % 2 == 0 ? 4.0 : 8.0; });
    EXPECT_TRUE(make_history(list, {}).series.front().spikes.empty());
}

TEST(History, UpAndDownAtTheEndIsNoNewLevel) {
    const auto list =
        runs(15, [](std::size_t i) { return i == 12 || i == 14 ? 8.0 : 4.0; });
    const HistorySeries series = make_history(list, {}).series.front();
    EXPECT_TRUE(series.changes.empty());
    EXPECT_EQ(series.verdict, HistoryVerdict::inconclusive);
    EXPECT_EQ(series.newest.verdict, NewestVerdict::slower);
}

TEST(History, ACurrentSeriesThatRegressedDecidesBeforeANewerOne) {
    auto list = runs(20, [](std::size_t i) { return i < 16 ? 4.0 : 8.0; });
    for (std::size_t i = 0; i < 10; ++i) {
        list.push_back(run(20 + i, 4, 36 * (1 + deviation(i))));
        list.back().workload["loader.batch_size"] = "16";
    }
    const History history = make_history(list, {});
    EXPECT_EQ(history.series.front().verdict, HistoryVerdict::same);
    EXPECT_EQ(history.deciding().verdict, HistoryVerdict::regressed);
    EXPECT_EQ(check_history({"regressed"}, history).result, GateResult::failed);
    list.push_back(list.back());
    list.back().uuid = "later";
    list.back().started_unix_ns = 40LL * 86'400 * 1'000'000'000;
    const History later = make_history(list, {});
    EXPECT_FALSE(later.series.back().current);
    EXPECT_EQ(check_history({"regressed"}, later).result, GateResult::passed);
}

TEST(History, OneOddNewestRunIsInconclusiveTwoAreNot) {
    const auto once = runs(30, [](std::size_t i) { return i >= 29 ? 8.0 : 4.0; });
    const HistorySeries first = make_history(once, {}).series.front();
    EXPECT_EQ(first.newest.verdict, NewestVerdict::slower);
    EXPECT_EQ(first.verdict, HistoryVerdict::inconclusive);
    const History inconclusive = make_history(once, {});
    EXPECT_EQ(check_history({"inconclusive"}, inconclusive).result,
              GateResult::undecided);
    EXPECT_EQ(check_history({"regressed"}, inconclusive).result, GateResult::passed);

    const auto twice = runs(30, [](std::size_t i) { return i >= 28 ? 8.0 : 4.0; });
    const HistorySeries second = make_history(twice, {}).series.front();
    EXPECT_TRUE(second.newest.again);
    EXPECT_EQ(second.verdict, HistoryVerdict::regressed);
}

TEST(History, WorkloadsAreSeriesOfTheirOwnTheNewestFirst) {
    auto list = runs(20);
    for (std::size_t i = 0; i < list.size(); i += 2) {
        list[i].workload["loader.batch_size"] = "16";
    }
    const History history = make_history(list, {});
    ASSERT_EQ(history.series.size(), 2U);
    EXPECT_EQ(history.series[0].runs.back()->uuid, "19");
    EXPECT_EQ(history.series[0].runs.size(), 10U);
    EXPECT_EQ(history.series[1].workload.at("loader.batch_size"), "16");
}

TEST(History, ASettingCanMakeSeriesToo) {
    auto list = runs(20);
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].settings["loader.num_workers"] = i % 2 == 0 ? "0" : "2";
    }
    HistoryOptions options;
    options.by = "loader.num_workers";
    EXPECT_EQ(make_history(list, options).series.size(), 2U);
    options.by = "nothing";
    EXPECT_THROW(make_history(list, options), Error);
}

TEST(History, OrderOfFilesDoesNotMatter) {
    auto list = runs(40, [](std::size_t i) { return i < 20 ? 4.0 : 8.0; });
    std::reverse(list.begin(), list.end());
    std::swap(list[3], list[30]);
    const HistorySeries series = make_history(list, {}).series.front();
    ASSERT_EQ(series.changes.size(), 1U);
    EXPECT_EQ(series.changes.front().run, 20U);
    EXPECT_EQ(series.runs.front()->uuid, "0");
}

TEST(History, ARunInTwoFilesCountsOnce) {
    auto list = runs(20);
    list.push_back(list[5]);
    EXPECT_EQ(make_history(list, {}).series.front().runs.size(), 20U);
}

TEST(History, AStageIsAMetric) {
    const auto list = runs(40, [](std::size_t i) { return i < 20 ? 4.0 : 4.4; });
    EXPECT_TRUE(
        make_history(list, {}).series.front().changes.empty());  // 1 % of a step
    HistoryOptions options;
    options.metric = "collate";
    const History history = make_history(list, options);
    EXPECT_EQ(history.options.metric, "loader/collate");
    const HistorySeries& series = history.series.front();
    ASSERT_EQ(series.changes.size(), 1U);
    EXPECT_NEAR(series.changes.front().relative.value(), 0.1, 1e-9);
    options.metric = "nothing";
    EXPECT_THROW(make_history(list, options), Error);
}

TEST(History, ANewStageChangesFromNothing) {
    auto list = runs(40);
    for (std::size_t i = 20; i < list.size(); ++i) {
        list[i].stages.push_back({{"step", "check"}, 12 * kMs});
    }
    HistoryOptions options;
    options.metric = "check";
    const HistorySeries series = make_history(list, options).series.front();
    ASSERT_EQ(series.changes.size(), 1U);
    EXPECT_EQ(series.changes.front().before_ns, 0);
    EXPECT_DOUBLE_EQ(series.changes.front().after_ns, 12 * kMs);
    EXPECT_FALSE(series.changes.front().relative);
    EXPECT_EQ(series.lacking, 20U);
}

// Six runs of two variants, one block after the other, each slower than the one before.
TEST(History, AnOrderThatExplainsTheDifferenceIsTold) {
    std::vector<RunDigest> list;
    for (std::size_t i = 0; i < 6; ++i) {
        list.push_back(run(i, 4 + 2 * static_cast<double>(i) + deviation(i), 36));
        list.back().settings["loader.num_workers"] = i < 3 ? "0" : "2";
    }
    const HistorySeries series = make_history(list, {}).series.front();
    ASSERT_EQ(series.order_effects.size(), 1U);
    EXPECT_EQ(series.order_effects.front().key, "loader.num_workers");
    EXPECT_EQ(series.order_effects.front().effect.at, 3U);
}

TEST(History, ADriftIsTold) {
    const auto list =
        runs(30, [](std::size_t i) { return 4 + 0.2 * static_cast<double>(i); });
    const HistorySeries series = make_history(list, {}).series.front();
    ASSERT_TRUE(series.changes.empty());
    ASSERT_TRUE(series.drift);
    EXPECT_NEAR(series.drift.value(), 0.2 / 43, 0.001);
    EXPECT_EQ(check_history({"drift"}, make_history(list, {})).result,
              GateResult::failed);
}

TEST(History, OneRunIsNotJudged) {
    const auto list = runs(1);
    const HistorySeries series = make_history(list, {}).series.front();
    EXPECT_EQ(series.verdict, HistoryVerdict::inconclusive);
    EXPECT_EQ(series.newest.verdict, NewestVerdict::unknown);
    EXPECT_THROW(check_history({"slower"}, make_history(list, {})), Error);
}

TEST(History, AddingRunsLeavesEarlierChangesWhereTheyAre) {
    const auto level = [](std::size_t i) { return i < 20 ? 4.0 : 8.0; };
    for (const std::size_t count : {30U, 40U, 60U}) {
        const auto list = runs(count, level);
        const HistorySeries series = make_history(list, {}).series.front();
        ASSERT_EQ(series.changes.size(), 1U) << count;
        EXPECT_EQ(series.changes.front().run, 20U) << count;
    }
}

}  // namespace
}  // namespace metatrain_timing::analyzer
