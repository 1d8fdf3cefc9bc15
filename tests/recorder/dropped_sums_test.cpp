#include <gtest/gtest.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/recorder/full_ring.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

// A thread whose ring is full: its records are not there one by one, but their sums.
namespace metatrain_timing {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;
using test::fill_ring;
using test::FullRing;
using test::in_child;
using test::kSumsByPath;
using test::number;
using test::query;

class DroppedSumsTest : public testing::Test {
  protected:
    fs::path database() const { return folder_ / "run.db"; }

    /// A training that has its file already.
    void run_training(const std::function<void()>& body, std::int64_t max_bytes = 0) {
        const auto result = in_child([&] {
            ASSERT_TRUE(start({.database = database(), .max_size_bytes = max_bytes}));
            add(stage("first"), 0, 1, {});
            flush();
            body();
            stop();
        });
        EXPECT_EQ(result.exit_code, 0);
        EXPECT_EQ(result.errors, "");
        EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
    }

    /// Two nodes for each pass: `fetch`, and in it a `collate` of 2 ns.
    static void drop_in_passes(std::int64_t loader, int count) {
        for (int index = 0; index < count; ++index) {
            const auto pass = define_iterator(loader, index);
            set_context({.iterator = pass});
            const auto outer = begin(stage("fetch"));
            add(stage("collate"), index, index + 2, {.iterator = pass});
            cancel(outer);
        }
    }

    Rows sums_by_path() const { return query(database(), kSumsByPath); }
    Rows drops() const {
        return query(database(), "SELECT dropped_count, unsummed_count FROM process");
    }

    test::TempFolder folder_;
};

TEST_F(DroppedSumsTest, OfAFullRingHaveEachPathOfStages) {
    run_training([this] {
        const auto pass = define_iterator(define_loader({.name = "train"}), 0);
        const FullRing full(database());
        set_context({.iterator = pass, .batch = 5});
        const auto fetch = begin(stage("fetch"));
        const auto collate = begin(stage("collate"));
        add(stage("transform"), 100, 130, {.iterator = pass});
        add(stage("transform"), 200, 205, {.iterator = pass});
        cancel(collate);
        add(stage("transform"), 300, 301, {.iterator = pass});
        add(stage("transform"), 400, 402, {});
        cancel(fetch);
        add(stage("transform"), 500, 503, {.iterator = pass});
        EXPECT_EQ(health().dropped_count, 5);
        EXPECT_EQ(health().unsummed_count, 0);
    });
    EXPECT_EQ(sums_by_path(), (Rows{"fetch|1|0|0|NULL|0|NULL|NULL",
                                    "fetch/collate|1|0|0|NULL|0|NULL|NULL",
                                    "fetch/collate/transform|1|2|35|NULL|0|100|205",
                                    "fetch/transform|1|1|1|NULL|0|300|301",
                                    "fetch/transform|NULL|1|2|NULL|0|400|402",
                                    "transform|1|1|3|NULL|0|500|503"}));
    EXPECT_EQ(drops(), Rows{"5|0"});
    EXPECT_EQ(query(database(),
                    "SELECT stage, loader, calls, total_ns FROM v_stage_summary"
                    " WHERE stage = 'transform' ORDER BY loader"),
              (Rows{"transform|NULL|1|2", "transform|train|4|39"}));
}

TEST_F(DroppedSumsTest, AreThoseOfAllRecordsLessThoseThatAreThere) {
    run_training([this] {
        {
            const FullRing held(database(), 8000);  // 192 more fit
            for (int step = 0; step < 500; ++step) {
                const Interval outer(stage("outer"));
                const Interval inner(stage("inner"));
            }
        }
        flush();
        for (const StageTotal& total : totals()) {
            if (total.stage == "outer" || total.stage == "inner") {
                EXPECT_EQ(total.calls, 500);
                set_fact(total.stage, std::to_string(total.total_ns));
            }
        }
    });
    EXPECT_EQ(query(database(),
                    "SELECT stage, calls FROM v_stage_summary"
                    " WHERE stage LIKE '%er' ORDER BY stage"),
              (Rows{"inner|500", "outer|500"}));
    EXPECT_EQ(query(database(),
                    "SELECT count(*) FROM v_stage_summary JOIN environment"
                    " ON key = stage AND CAST(value AS INTEGER) = total_ns"),
              Rows{"2"});
    EXPECT_EQ(query(database(),
                    "SELECT stage, count(*) FROM v_interval WHERE stage LIKE '%er'"
                    " GROUP BY stage ORDER BY stage"),
              (Rows{"inner|96", "outer|96"}));
    EXPECT_EQ(drops(), Rows{"808|0"});
}

TEST_F(DroppedSumsTest, HaveTheCpuTimesThatWereMeasured) {
    run_training([this] {
        const FullRing full(database());
        for (int index = 0; index < 10; ++index) {
            end(begin_with_cpu(stage("work")));
        }
        end(begin(stage("work")));
    });
    EXPECT_EQ(query(database(),
                    "SELECT calls, cpu_ns BETWEEN 0 AND cpu_wall_ns + 10000,"
                    " cpu_wall_ns BETWEEN 1 AND total_ns - 1 FROM interval_total"),
              Rows{"11|1|1"});
    EXPECT_EQ(drops(), Rows{"11|0"});
}

TEST_F(DroppedSumsTest, OfCountersAreInTheirRates) {
    run_training([this] {
        const auto pass = define_iterator(define_loader({.name = "train"}), 0);
        set_context({.iterator = pass});
        count(counter("atoms"), 1000);
        flush();
        {
            const FullRing full(database());
            count(counter("atoms"), 12);
            count(counter("atoms"), 0.5);
            set_context({});
            count(counter("atoms"), 7);
            count(CounterId::none, 1);
        }
        double total = 0;
        for (const CounterTotal& each : counter_totals()) {
            total += each.total;
        }
        EXPECT_EQ(total, 1019.5);
    });
    EXPECT_EQ(
        query(database(),
              "SELECT iterator_id, calls, value, node FROM counter_total ORDER BY id"),
        (Rows{"1|2|12.5|0", "NULL|1|7.0|1"}));
    EXPECT_EQ(
        query(database(), "SELECT loader, total FROM v_counter_rate ORDER BY loader"),
        (Rows{"NULL|7.0", "train|1012.5"}));
    EXPECT_EQ(drops(), Rows{"4|1"});
}

TEST_F(DroppedSumsTest, BeforeAndAfterAFlushAreNotCountedTwice) {
    run_training([this] {
        for (int round = 0; round < 3; ++round) {
            {
                const FullRing full(database());
                add(stage("burst"), 10, 14, {});
                count(counter("atoms"), 2);
            }
            flush();
            EXPECT_EQ(query(database(), "SELECT calls, total_ns FROM interval_total"),
                      Rows{std::to_string(round + 1) + "|" +
                           std::to_string(4 * (round + 1))});
            flush();
        }
        for (const StageTotal& total : totals()) {
            if (total.stage == "burst") {
                EXPECT_EQ(total.total_ns, 12);
            }
        }
    });
    EXPECT_EQ(sums_by_path(), Rows{"burst|NULL|3|12|NULL|0|10|14"});
    EXPECT_EQ(query(database(), "SELECT calls, value FROM counter_total"),
              Rows{"3|6.0"});
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"),
              Rows{std::to_string(1 + 3 * 8192)});
    EXPECT_EQ(drops(), Rows{"6|0"});
}

TEST_F(DroppedSumsTest, AfterTheLastRecordComeWithTheNextPass) {
    run_training([this] {
        fill_ring(8192);
        const FullRing full(database(), 0);
        add(stage("late"), 0, 3, {});
    });
    EXPECT_EQ(
        number(database(), "SELECT total_ns FROM v_stage_summary WHERE stage = 'late'"),
        3);
}

TEST_F(DroppedSumsTest, OfManyPassesEachHaveTheirOwn) {
    run_training([this] {
        const auto loader = define_loader({.name = "train"});
        for (int round = 0; round < 10; ++round) {
            FullRing full(database());
            drop_in_passes(loader, 30);
            full.release();
            flush();
        }
    });
    EXPECT_EQ(query(database(),
                    "SELECT count(*), count(DISTINCT iterator_id), sum(calls),"
                    " sum(total_ns) FROM interval_total JOIN stage"
                    " ON stage.id = stage_id WHERE stage.name = 'collate'"),
              Rows{"300|300|300|600"});
    EXPECT_EQ(drops(), Rows{"300|0"});
}

TEST_F(DroppedSumsTest, OfMorePassesThanThereIsRoomForKeepTheirPath) {
    run_training([this] {
        const auto loader = define_loader({.name = "train"});
        const FullRing full(database());
        drop_in_passes(loader, 100);
    });
    // 72 passes in two generations, then the pass is unknown.
    EXPECT_EQ(query(database(),
                    "SELECT iterator_id IS NULL AS unknown, sum(calls), sum(total_ns)"
                    " FROM interval_total JOIN stage ON stage.id = stage_id"
                    " WHERE stage.name = 'collate' GROUP BY unknown"),
              (Rows{"0|72|144", "1|28|56"}));
    EXPECT_EQ(number(database(),
                     "SELECT count(*) FROM interval_total AS part JOIN interval_total"
                     " AS whole ON whole.id = part.parent_id WHERE"
                     " whole.iterator_id IS part.iterator_id AND part.calls > 0"),
              73);
    EXPECT_EQ(drops(), Rows{"100|0"});
}

TEST_F(DroppedSumsTest, BeyondAllRoomAreCountedAsUnknown) {
    run_training([this] {
        const FullRing full(database());
        for (int index = 0; index < 500; ++index) {
            add(stage("stage " + std::to_string(index)), 0, 1, {});
        }
        EXPECT_EQ(health().unsummed_count, 500 - 72 - 96);
    });
    EXPECT_EQ(query(database(), "SELECT sum(calls), sum(total_ns) FROM interval_total"),
              Rows{"168|168"});
    EXPECT_EQ(drops(), Rows{"500|332"});
}

TEST_F(DroppedSumsTest, LieBesideThoseOfTheSizeLimit) {
    constexpr int kSteps = 40'000;
    run_training(
        [this] {
            const auto pass = define_iterator(define_loader({.name = "train"}), 0);
            for (int step = 0; step < kSteps; ++step) {
                set_context({.iterator = pass, .batch = step, .step = step});
                {
                    const Interval body(stage("step"));
                    const Interval part(stage("forward"));
                    count(counter("atoms"), 3);
                }
                if (step % 400 == 0) {
                    flush();
                }
            }
            flush();
            const FullRing full(database());
            set_context({.iterator = pass});
            const auto body = begin(stage("step"));
            add(stage("forward"), 10, 17, {.iterator = pass});
            count(counter("atoms"), 5);
            cancel(body);
        },
        1'000'000);
    EXPECT_EQ(query(database(),
                    "SELECT stage, calls FROM v_stage_summary"
                    " WHERE stage IN ('step', 'forward') ORDER BY stage"),
              (Rows{"forward|" + std::to_string(kSteps + 1),
                    "step|" + std::to_string(kSteps)}));
    EXPECT_EQ(number(database(), "SELECT total FROM v_counter_rate"), 3 * kSteps + 5);
    EXPECT_EQ(
        query(database(), "SELECT calls, total_ns FROM interval_total WHERE node = 1"),
        Rows{"1|7"});
    EXPECT_GT(
        number(database(), "SELECT sum(calls) FROM interval_total WHERE node IS NULL"),
        0);
    EXPECT_EQ(drops(), Rows{"2|0"});
}

TEST_F(DroppedSumsTest, OfAParentAreNotThoseOfItsChild) {
    run_training([this] {
        const FullRing full(database());
        add(stage("parent's"), 0, 5, {});
        const pid_t child = test::fork_child([] {
            add(stage("child's"), 0, 1, {});
            EXPECT_EQ(health().dropped_count, 0);
            stop();
        });
        EXPECT_EQ(test::exit_code_of(child), 0);
        add(stage("parent's"), 5, 7, {});
    });
    EXPECT_EQ(sums_by_path(), Rows{"parent's|NULL|2|7|NULL|0|0|7"});
    int files = 0;
    for (const auto& file : fs::directory_iterator(folder_ / "run.db.d")) {
        ++files;
        EXPECT_EQ(query(file.path(), "SELECT count(*) FROM interval_total"), Rows{"0"});
        EXPECT_EQ(query(file.path(), "SELECT stage FROM v_interval"), Rows{"child's"});
    }
    EXPECT_EQ(files, 1);
}

TEST_F(DroppedSumsTest, OfThreadsThatEndStayWithTheirTracks) {
    run_training([this] {
        for (int round = 1; round <= 3; ++round) {
            std::thread([this, round] {
                set_thread_name("thread " + std::to_string(round));
                const FullRing full(database());
                add(stage("burst"), 0, round, {});
            }).join();
            flush();  // the next one gets its memory
        }
    });
    EXPECT_EQ(query(database(),
                    "SELECT track.name, calls, total_ns, node FROM interval_total"
                    " JOIN track ON track.id = track_id ORDER BY track.id"),
              (Rows{"thread 1|1|1|0", "thread 2|1|2|0", "thread 3|1|3|0"}));
    EXPECT_EQ(drops(), Rows{"3|0"});
}

}  // namespace
}  // namespace metatrain_timing
