#include <gtest/gtest.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;
using test::in_child;
using test::number;
using test::query;

void record(const char* name) {
    const Interval interval(stage(name));
}

class IntervalTest : public testing::Test {
  protected:
    fs::path database() const { return folder_ / "run.db"; }

    void run_training(const std::function<void()>& body) {
        const auto result = in_child([&] {
            ASSERT_TRUE(start({.database = database()}));
            body();
            stop();
        });
        EXPECT_EQ(result.exit_code, 0);
        EXPECT_EQ(result.errors, "");
    }

    Rows stages_and_depths() const {
        return query(database(),
                     "SELECT stage, depth FROM v_interval ORDER BY interval_id");
    }

    test::TempFolder folder_;
};

TEST_F(IntervalTest, AnOuterEndClosesTheInnerOnesAtTheSameInstant) {
    run_training([] {
        const auto outer = begin(stage("outer"));
        begin(stage("middle"));
        begin(stage("inner"));
        end(outer);
        record("after");
    });
    EXPECT_EQ(stages_and_depths(), (Rows{"inner|2", "middle|1", "outer|0", "after|0"}));
    EXPECT_EQ(number(database(),
                     "SELECT count(DISTINCT start_ns + dur_ns) FROM interval "
                     "JOIN stage ON stage.id = stage_id "
                     "WHERE name <> 'after'"),
              1);
}

TEST_F(IntervalTest, WhatIsClosedAlreadyStaysClosed) {
    run_training([] {
        const auto outer = begin(stage("outer"));
        const auto inner = begin(stage("inner"));
        end(outer);
        end(inner);
        end(outer);
        const auto next = begin(stage("next"));
        end(outer);
        EXPECT_NE(next.serial, outer.serial);
        end(next);
        end(OpenInterval{});
    });
    EXPECT_EQ(stages_and_depths(), (Rows{"inner|1", "outer|0", "next|0"}));
}

TEST_F(IntervalTest, ACancelledOneIsNotRecordedButItsChildrenAre) {
    run_training([] {
        const auto outer = begin(stage("outer"));
        const auto cancelled = begin(stage("cancelled"));
        begin(stage("inner"));
        cancel(cancelled);
        cancel(cancelled);
        end(outer);
    });
    EXPECT_EQ(stages_and_depths(), (Rows{"inner|2", "outer|0"}));
}

TEST_F(IntervalTest, KeepsTheContextItBeganWith) {
    run_training([] {
        set_context({.iterator = -1, .batch = 1, .step = 2});
        const auto open = begin(stage("step"));
        set_context({.iterator = -1, .batch = 3, .step = 4});
        record("next");
        end(open);
        EXPECT_EQ(context().step, 4);
    });
    EXPECT_EQ(query(database(), "SELECT stage, batch, step FROM v_interval ORDER BY 1"),
              (Rows{"next|3|4", "step|1|2"}));
}

TEST_F(IntervalTest, OneThatIsOverIsAChildOfThoseOpen) {
    run_training([] {
        const auto open = begin(stage("loader"));
        add(stage("receive"), 1000, 1250, {.iterator = -1, .batch = 7});
        add(stage("backwards"), 1250, 1000, {});
        end(open);
    });
    EXPECT_EQ(query(database(),
                    "SELECT start_ns, dur_ns, depth, batch, step "
                    "FROM v_interval WHERE stage = 'receive'"),
              Rows{"1000|250|1|7|NULL"});
    EXPECT_EQ(query(database(), "SELECT dropped_count FROM process"), Rows{"1"});
}

TEST_F(IntervalTest, CpuTimeIsNoLongerThanTheTime) {
    run_training([] {
        const auto open = begin_with_cpu(stage("work"));
        std::atomic<std::int64_t> sum = 0;
        for (int index = 0; index < 100'000; ++index) {
            sum += index;
        }
        end(open);
        record("not measured");
    });
    EXPECT_EQ(number(database(),
                     "SELECT cpu_ns BETWEEN 1 AND dur_ns + 100000 "
                     "FROM v_interval WHERE stage = 'work'"),
              1);
    EXPECT_EQ(query(database(), "SELECT cpu_ns FROM v_interval WHERE stage <> 'work'"),
              Rows{"NULL"});
}

TEST_F(IntervalTest, TooDeepOnesAreCounted) {
    run_training([] {
        std::vector<OpenInterval> open;
        for (int depth = 0; depth < 300; ++depth) {
            open.push_back(begin(stage("deep")));
        }
        while (!open.empty()) {
            end(open.back());
            open.pop_back();
        }
    });
    EXPECT_EQ(query(database(), "SELECT count(*), max(depth) FROM interval"),
              Rows{"256|255"});
    EXPECT_EQ(query(database(), "SELECT dropped_count, unsummed_count FROM process"),
              Rows{"44|44"});
}

TEST_F(IntervalTest, NamelessOnesAreCounted) {
    run_training([] {
        end(begin(StageId::none));
        count(CounterId::none, 1);
        record("named");
    });
    EXPECT_EQ(stages_and_depths(), Rows{"named|0"});
    EXPECT_EQ(query(database(), "SELECT dropped_count FROM process"), Rows{"2"});
}

TEST_F(IntervalTest, AFullRingDropsCountsAndSums) {
    // With the file's lock held by another writer, nothing leaves the ring.
    run_training([this] {
        record("first");
        flush();
        SQLite::Database other(database().string(), SQLite::OPEN_READWRITE);
        other.exec("BEGIN IMMEDIATE");
        for (int index = 0; index < 10'000; ++index) {
            record("burst");
        }
        EXPECT_EQ(health().dropped_count, 10'000 - 8192);
        EXPECT_TRUE(health().degraded);
        EXPECT_EQ(totals().size(), 2U);
        other.exec("COMMIT");
    });
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"burst|10000", "first|1"}));
    EXPECT_EQ(number(database(), "SELECT count(*) FROM interval"), 8193);
    EXPECT_EQ(query(database(), "SELECT dropped_count, unsummed_count FROM process"),
              Rows{std::to_string(10'000 - 8192) + "|0"});
}

TEST_F(IntervalTest, EachThreadIsATrack) {
    run_training([] {
        record("main");
        std::thread([] {
            set_thread_name("QueueFeederThread");
            record("send");
        }).join();
        std::thread([] {
            record("pin");
            flush();
            set_thread_name("PinThread");
            record("pin");
        }).join();
    });
    EXPECT_EQ(
        query(database(),
              "SELECT track, stage, count(*) FROM v_interval "
              "GROUP BY track, stage ORDER BY track"),
        (Rows{"MainThread|main|1", "PinThread|pin|2", "QueueFeederThread|send|1"}));
    EXPECT_EQ(number(database(), "SELECT count(DISTINCT tid) FROM track"), 3);
}

TEST_F(IntervalTest, AThousandShortThreadsLoseNothing) {
    run_training([] {
        for (int group = 0; group < 50; ++group) {
            std::vector<std::thread> threads;
            for (int index = 0; index < 20; ++index) {
                threads.emplace_back([] {
                    record("short");
                    record("short");
                });
            }
            for (std::thread& thread : threads) {
                thread.join();
            }
        }
    });
    EXPECT_EQ(number(database(), "SELECT count(*) FROM interval"), 2000);
    EXPECT_EQ(number(database(), "SELECT count(*) FROM track"), 1000);
    EXPECT_EQ(number(database(), "SELECT dropped_count FROM process"), 0);
}

TEST_F(IntervalTest, FourThreadsAtFullSpeedLoseNothingThatFits) {
    run_training([] {
        std::vector<std::thread> threads;
        for (int index = 0; index < 4; ++index) {
            threads.emplace_back([] {
                for (int round = 0; round < 20; ++round) {
                    for (int step = 0; step < 1000; ++step) {
                        const Interval outer(stage("outer"));
                        const Interval inner(stage("inner"));
                        count(counter("atoms"), 1);
                    }
                    flush();
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        EXPECT_EQ(health().dropped_count, 0);
    });
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"inner|80000", "outer|80000"}));
    EXPECT_EQ(number(database(), "SELECT sum(value) FROM counter"), 80'000);
}

TEST_F(IntervalTest, WhatIsOpenAtTheEndIsNoted) {
    run_training([] {
        set_context({.iterator = -1, .batch = 30, .step = 29});
        record("loader");
        begin(stage("step"));
        begin(stage("forward"));
        std::atomic<bool> is_open = false;
        std::atomic<bool> may_end = false;
        std::thread other([&] {
            const auto open = begin(stage("send"));
            is_open = true;
            is_open.notify_one();
            may_end.wait(false);
            end(open);
        });
        is_open.wait(false);
        stop();
        may_end = true;
        may_end.notify_one();
        other.join();
    });
    EXPECT_EQ(query(database(),
                    "SELECT name, depth, step, batch FROM open_interval "
                    "JOIN stage ON stage.id = stage_id ORDER BY 1"),
              (Rows{"forward|1|29|30", "send|0|NULL|NULL", "step|0|29|30"}));
    EXPECT_EQ(stages_and_depths(), Rows{"loader|0"});
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"clean"});
}

TEST_F(IntervalTest, AnOpenOneAloneIsWorthAFile) {
    run_training([] { begin(stage("step")); });
    EXPECT_EQ(number(database(), "SELECT count(*) FROM open_interval"), 1);
}

TEST_F(IntervalTest, AHandleFitsNoOtherThread) {
    run_training([] {
        const auto open = begin(stage("mine"));
        std::thread([open] {
            const auto own = begin(stage("theirs"));
            end(open);
            EXPECT_EQ(own.depth, open.depth);
            end(own);
        }).join();
        end(open);
    });
    EXPECT_EQ(stages_and_depths().size(), 2U);
    EXPECT_EQ(number(database(),
                     "SELECT (SELECT dur_ns FROM v_interval "
                     "WHERE stage = 'mine') > (SELECT dur_ns "
                     "FROM v_interval WHERE stage = 'theirs')"),
              1);
}

TEST_F(IntervalTest, OffNothingHappens) {
    const auto result = in_child([this] {
        EXPECT_FALSE(recording());
        const auto open = begin(stage("off"));
        EXPECT_EQ(open.serial, 0U);
        end(open);
        set_context({.step = 3});
        EXPECT_EQ(context().step, -1);
        count(counter("off"), 1);
        turn_ended();
        flush();
        stop();
        EXPECT_TRUE(totals().empty());
        EXPECT_EQ(run_uuid(), "");
        EXPECT_TRUE(environment_for_children().empty());
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(IntervalTest, TotalsAreOfAllThreadsAndRecordsSoFar) {
    run_training([] {
        add(stage("forward"), 100, 150, {});
        add(stage("forward"), 200, 270, {});
        std::thread([] { add(stage("send"), 0, 5, {}); }).join();
        count(counter("atoms"), 2);
        count(counter("atoms"), 0.5);
        const auto stages = totals();
        ASSERT_EQ(stages.size(), 2U);
        EXPECT_EQ(stages[0].stage, "forward");
        EXPECT_EQ(stages[0].calls, 2);
        EXPECT_EQ(stages[0].total_ns, 120);
        EXPECT_EQ(stages[1].total_ns, 5);
        ASSERT_EQ(counter_totals().size(), 1U);
        EXPECT_EQ(counter_totals()[0].counter, "atoms");
        EXPECT_EQ(counter_totals()[0].total, 2.5);
        reset_totals();
        EXPECT_TRUE(totals().empty());
        add(stage("forward"), 0, 1, {});
        EXPECT_EQ(totals().at(0).total_ns, 1);
    });
    EXPECT_EQ(number(database(), "SELECT count(*) FROM interval"), 4);
}

TEST_F(IntervalTest, TotalsNeedNoDatabase) {
    const auto result = in_child([] {
        ASSERT_TRUE(start({}));
        for (int index = 0; index < 50; ++index) {
            for (int call = 0; call < 1000; ++call) {
                add(stage("forward"), 0, 2, {});
            }
            flush();  // frees the ring
        }
        EXPECT_EQ(totals().at(0).calls, 50'000);
        EXPECT_EQ(totals().at(0).total_ns, 100'000);
        EXPECT_EQ(health().dropped_count, 0);
        stop();
        EXPECT_EQ(totals().at(0).calls, 50'000);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
}

/// Records when the program's static objects are destroyed.
struct LateRecorder {
    ~LateRecorder() {
        if (armed) {
            record("late");
            stop();
            record("later");
        }
    }
    bool armed = false;
};
LateRecorder late_recorder;

TEST_F(IntervalTest, DestructorsOfStaticObjectsMayRecord) {
    const auto result = in_child([this] {
        start({.database = database()});
        record("main");
        late_recorder.armed = true;
        std::exit(0);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"clean"});
    EXPECT_EQ(stages_and_depths().at(0), "main|0");
}

TEST_F(IntervalTest, AProgramThatDoesNotStopEndsCleanlyAllTheSame) {
    const auto result = in_child([this] {
        start({.database = database()});
        record("main");
        std::exit(3);
    });
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"clean"});
    EXPECT_EQ(stages_and_depths(), Rows{"main|0"});
}

TEST_F(IntervalTest, StoppingWhileThreadsRecordIsSafe) {
    const auto result = in_child([this] {
        std::atomic<bool> done = false;
        std::vector<std::thread> threads;
        for (int index = 0; index < 3; ++index) {
            threads.emplace_back([&done] {
                while (!done) {
                    const Interval outer(stage("outer"));
                    record("inner");
                }
            });
        }
        for (int round = 0; round < 20; ++round) {
            start({.database = database()});
            record("main");
            stop();
        }
        done = true;
        for (std::thread& thread : threads) {
            thread.join();
        }
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(number(database(), "SELECT count(*) FROM process WHERE ending = 'clean'"),
              20);
    EXPECT_EQ(
        number(database(), "SELECT calls FROM v_stage_summary WHERE stage = 'main'"),
        20);
    EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
}

}  // namespace
}  // namespace metatrain_timing
