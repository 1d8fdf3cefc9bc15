#include <gtest/gtest.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "recorder/core/src/size_limit.hpp"
#include "recorder/core/src/thinning_rule.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing {
namespace {

namespace fs = std::filesystem;
using detail::parse_size;
using detail::ThinningRule;
using detail::ThinningSubject;
using Rows = std::vector<std::string>;
using test::in_child;
using test::query;

TEST(ThinningRule, KeepsAllAtFirst) {
    const ThinningRule rule;
    EXPECT_TRUE(rule.keeps_all());
    for (int batch = 0; batch < 1000; ++batch) {
        EXPECT_TRUE(rule.keeps({1, batch, batch, 0}));
    }
}

TEST(ThinningRule, ASharperOneKeepsSomeOfWhatAMilderOneKept) {
    const ThinningRule milder = ThinningRule().sharper();
    const ThinningRule sharper = milder.sharper();
    EXPECT_EQ(milder.keeps_one_in(), 4U);
    EXPECT_EQ(sharper.keeps_one_in(), 16U);
    int kept_by_milder = 0;
    int kept_by_sharper = 0;
    for (int batch = 0; batch < 64'000; ++batch) {
        const ThinningSubject subject{1 + batch / 1000, batch % 1000, -1, 0};
        const bool mild = milder.keeps(subject);
        const bool sharp = sharper.keeps(subject);
        EXPECT_TRUE(mild || !sharp) << batch;
        kept_by_milder += mild ? 1 : 0;
        kept_by_sharper += sharp ? 1 : 0;
    }
    EXPECT_NEAR(kept_by_milder, 16'000, 1500);
    EXPECT_NEAR(kept_by_sharper, 4'000, 1000);
}

TEST(ThinningRule, NeighboursStayTogether) {
    const ThinningRule rule = ThinningRule().sharper();
    for (int block = 0; block < 100; ++block) {
        const bool first = rule.keeps({3, block * 16, -1, 0});
        for (int batch = 1; batch < 16; ++batch) {
            EXPECT_EQ(rule.keeps({3, block * 16 + batch, -1, 0}), first);
        }
    }
}

TEST(ThinningRule, TheStartOfAWorkerSharesTheFateOfTheFirstBatchesOfItsPass) {
    const ThinningRule rule = ThinningRule().sharper();
    int kept = 0;
    for (std::int64_t pass = 1; pass <= 100; ++pass) {
        const bool start = rule.keeps({pass, -1, -1, 77 * pass});
        EXPECT_EQ(start, rule.keeps({pass, 0, 5, 0}));
        kept += start ? 1 : 0;
    }
    EXPECT_NEAR(kept, 25, 15);
}

TEST(ParseSize, KnowsTheUsualUnits) {
    EXPECT_EQ(parse_size("1000"), 1000);
    EXPECT_EQ(parse_size("100 MB"), 100'000'000);
    EXPECT_EQ(parse_size("1.5GiB"), 1'610'612'736);
    EXPECT_EQ(parse_size("2g"), 2'147'483'648);
    EXPECT_EQ(parse_size("0"), 0);
    for (const char* text : {"", "MB", "-1", "1 XB", "1e30", "nan", "1MB/s"}) {
        EXPECT_FALSE(parse_size(text)) << text;
    }
}

TEST(SizeLimit, IsReachedAnewOnlyIfTheFileGoesOnGrowingWhileRoomIsMade) {
    const test::TempFolder folder;
    const fs::path database = folder / "run.db";
    std::ofstream(database) << std::string(900, 'x');
    detail::SizeLimit limit(database, 1000, 0);
    EXPECT_FALSE(limit.is_reached(900, 900, false));
    EXPECT_TRUE(limit.is_reached(960, 960, false));
    EXPECT_FALSE(limit.is_reached(979, 979, true));
    EXPECT_TRUE(limit.is_reached(981, 981, true));
    EXPECT_FALSE(limit.is_reached(999, 999, true));
    EXPECT_FALSE(limit.is_reached(990, 200, false));  // there is room in it
    EXPECT_TRUE(limit.is_reached(990, 970, false));
}

class ThinningTest : public testing::Test {
  protected:
    /// `steps` turns of a loop: a wait with a part, a body with two parts.
    static void train(int steps) {
        const auto loader_stage = stage("loader");
        const auto receive = stage("receive");
        const auto step_stage = stage("step");
        const auto forward = stage("forward");
        const auto backward = stage("backward");
        const auto atoms = counter("atoms");
        const auto loader = define_loader({.name = "data"});
        const auto pass = define_iterator(loader, 0);
        for (int step = 0; step < steps; ++step) {
            set_context({.iterator = pass, .batch = step, .step = step});
            {
                const Interval wait(loader_stage);
                const Interval part(receive);
            }
            const Interval body(step_stage);
            {
                const Interval part(forward);
            }
            {
                const Interval part(backward);
            }
            count(atoms, 3);
            if (step % 400 == 0) {
                flush();  // nothing is dropped
            }
        }
    }

    std::string sums_of(const std::string& stage) {
        return query(database_,
                     "SELECT sum(calls) FROM (SELECT count(*) AS calls FROM interval"
                     " JOIN stage ON stage.id = stage_id WHERE name = '" +
                         stage +
                         "' UNION ALL SELECT sum(calls) FROM interval_total"
                         " JOIN stage ON stage.id = stage_id WHERE name = '" +
                         stage + "')")
            .at(0);
    }

    test::TempFolder folder_;
    fs::path database_ = folder_ / "run.db";
};

TEST_F(ThinningTest, ARunWithinItsLimitIsKeptWhole) {
    const auto result = in_child([&] {
        start({.database = database_, .max_size_bytes = 10'000'000});
        train(2000);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database_, "SELECT count(*) FROM interval"), Rows{"10000"});
    EXPECT_EQ(query(database_, "SELECT count(*) FROM interval_total"), Rows{"0"});
}

TEST_F(ThinningTest, BeyondItsLimitARunKeepsSomeStepsWholeAndTheSumsOfAll) {
    constexpr int kSteps = 60'000;
    constexpr std::int64_t kLimit = 2'000'000;  // 8.4 MB would be needed
    const auto result = in_child([&] {
        start({.database = database_, .max_size_bytes = kLimit});
        train(kSteps);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(query(database_, "PRAGMA integrity_check"), Rows{"ok"});
    EXPECT_LE(fs::file_size(database_), kLimit * 11 / 10);
    const std::string steps = std::to_string(kSteps);
    for (const char* stage : {"loader", "receive", "step", "forward", "backward"}) {
        EXPECT_EQ(sums_of(stage), steps) << stage;
    }
    EXPECT_EQ(query(database_,
                    "SELECT (SELECT sum(value) FROM counter) +"
                    " (SELECT sum(value) FROM counter_total)"),
              Rows{std::to_string(3 * kSteps) + ".0"});
    EXPECT_EQ(query(database_, "SELECT dropped_count FROM process"), Rows{"0"});
    // What is kept is kept whole, and its neighbours too; but for a turn whose wait lay
    // before and whose body lay behind the moment that the rule was sharpened.
    const auto split = query(
        database_, "SELECT count(*) FROM interval GROUP BY batch HAVING count(*) <> 5");
    EXPECT_LE(split.size(), 3U);
    for (const std::string& rows : split) {
        EXPECT_TRUE(rows == "2" || rows == "3") << rows;
    }
    const auto blocks = query(
        database_, "SELECT count(DISTINCT batch) FROM interval GROUP BY batch / 16");
    EXPECT_GT(blocks.size(), 10U);
    EXPECT_LT(blocks.size(), 60'000U / 16 / 2);
    // One more where the end came before all of the file was as thin.
    EXPECT_LE(std::count_if(blocks.begin(), blocks.end(),
                            [](const std::string& batches) { return batches != "16"; }),
              4);
    // When that was: nodes at the top do not overlap themselves.
    EXPECT_EQ(query(database_,
                    "SELECT count(*) FROM interval_total WHERE calls = 0"
                    " OR last_ns - first_ns < total_ns OR total_ns < 0"
                    " OR first_ns < (SELECT started_ns FROM process)"
                    " OR last_ns > (SELECT ended_ns FROM process)"),
              Rows{"0"});
    // The tree of the sums is that of the stages.
    EXPECT_EQ(query(database_,
                    "SELECT DISTINCT ifnull(above.name, '-') || '/' || own.name"
                    " FROM interval_total AS part"
                    " JOIN stage AS own ON own.id = part.stage_id"
                    " LEFT JOIN interval_total AS whole ON whole.id = part.parent_id"
                    " LEFT JOIN stage AS above ON above.id = whole.stage_id"
                    " ORDER BY 1"),
              (Rows{"-/loader", "-/step", "loader/receive", "step/backward",
                    "step/forward"}));
    EXPECT_EQ(query(database_,
                    "SELECT value IN ('4', '16', '64') FROM environment"
                    " WHERE key = 'thinning.keeps_one_in'"),
              Rows{"1"});
}

TEST_F(ThinningTest, AnOlderRunInTheFileIsLeftAsItIs) {
    const auto first = in_child([&] {
        start({.database = database_, .max_size_bytes = 0});
        train(20'000);
        stop();
    });
    EXPECT_EQ(first.exit_code, 0);
    const auto before = static_cast<std::int64_t>(fs::file_size(database_));
    const auto second = in_child([&] {
        start({.database = database_, .max_size_bytes = 1'000'000});
        train(20'000);
        stop();
    });
    EXPECT_EQ(second.exit_code, 0);
    EXPECT_EQ(query(database_,
                    "SELECT count(*) FROM interval JOIN track ON track.id = track_id"
                    " WHERE process_id = 1"),
              Rows{"100000"});
    EXPECT_LE(static_cast<std::int64_t>(fs::file_size(database_)), before + 1'100'000);
    EXPECT_EQ(sums_of("forward"), "40000");
}

TEST_F(ThinningTest, PartsOfALongStretchOfNoBatchDecideForThemselves) {
    const auto result = in_child([&] {
        start({.database = database_, .max_size_bytes = 1'000'000});
        const Interval whole(stage("phase/all"));
        std::this_thread::sleep_for(std::chrono::milliseconds(1100));
        train(20'000);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(sums_of("forward"), "20000");
    EXPECT_LE(fs::file_size(database_), 1'100'000U);
}

}  // namespace
}  // namespace metatrain_timing
