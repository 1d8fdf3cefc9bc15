#include <gtest/gtest.h>
#include <unistd.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>

#include "recorder/core/src/platform.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

// Several runs, ranks and attempts around one path.
namespace metatrain_timing {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;
using test::exit_code_of;
using test::fork_child;
using test::in_child;
using test::number;
using test::query;

void record(const char* name) {
    const Interval interval(stage(name));
}

class RunsTest : public testing::Test {
  protected:
    fs::path database() const { return folder_ / "run.db"; }
    fs::path others() const { return folder_ / "run.db.d"; }

    void run_training(const std::function<void()>& body, bool continues = false,
                      const std::map<std::string, std::string>& variables = {}) {
        const auto result = in_child([&] {
            for (const auto& [name, value] : variables) {
                setenv(name.c_str(), value.c_str(), 1);
            }
            ASSERT_TRUE(
                start({.database = database(), .continues_previous = continues}));
            body();
            stop();
        });
        EXPECT_EQ(result.exit_code, 0);
        EXPECT_EQ(result.errors, "");
    }

    test::TempFolder folder_;
};

TEST_F(RunsTest, AreAppended) {
    run_training([] { record("first"); });
    run_training([] { record("second"); });
    EXPECT_EQ(query(database(),
                    "SELECT count(DISTINCT uuid), count(DISTINCT job), "
                    "max(attempt) FROM run"),
              Rows{"2|2|1"});
    EXPECT_EQ(query(database(),
                    "SELECT stage, run.id FROM v_interval "
                    "JOIN run ON run.uuid = v_interval.run ORDER BY run.id"),
              (Rows{"first|1", "second|2"}));
    EXPECT_FALSE(fs::exists(others()));
}

TEST_F(RunsTest, GoingOnIsTheNextAttemptOfTheNewestJob) {
    run_training([] { record("other"); });
    run_training([] { record("first"); });
    run_training([] { record("second"); }, true);
    run_training([] { record("third"); }, true);
    EXPECT_EQ(query(database(), "SELECT attempt FROM run ORDER BY id"),
              (Rows{"1", "1", "2", "3"}));
    EXPECT_EQ(
        query(database(), "SELECT count(DISTINCT job), count(DISTINCT uuid) FROM run"),
        Rows{"2|4"});
}

TEST_F(RunsTest, GoingOnFromNothingIsTheFirstAttempt) {
    run_training([] { record("first"); }, true);
    EXPECT_EQ(query(database(), "SELECT attempt FROM run"), Rows{"1"});
}

TEST_F(RunsTest, TwoTrainingsAtOnceKeepApart) {
    // The second one runs from its first to its last record while the first one is
    // alive.
    std::array<int, 2> first_is_recording{};
    std::array<int, 2> second_is_done{};
    ASSERT_EQ(pipe(first_is_recording.data()), 0);
    ASSERT_EQ(pipe(second_is_done.data()), 0);
    char token = 'x';
    const pid_t first = fork_child([&] {
        start({.database = database()});
        record("first");
        flush();
        ASSERT_EQ(write(first_is_recording[1], &token, 1), 1);
        ASSERT_EQ(read(second_is_done[0], &token, 1), 1);
        record("first");
        stop();
    });
    ASSERT_EQ(read(first_is_recording[0], &token, 1), 1);
    run_training([] {
        record("second");
        flush();
        EXPECT_EQ(exit_code_of(fork_child([] {
                      set_process({.role = ProcessInfo::Role::worker, .worker_id = 0});
                      record("worker of second");
                      stop();
                  })),
                  0);
    });
    ASSERT_EQ(write(second_is_done[1], &token, 1), 1);
    EXPECT_EQ(exit_code_of(first), 0);

    fs::path second_file;
    for (const auto& entry : fs::directory_iterator(others())) {
        if (entry.path().filename().string().starts_with("main-")) {
            second_file = entry.path();
        }
    }
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval"),
              (Rows{"first", "first"}));
    EXPECT_EQ(query(second_file, "SELECT stage FROM v_interval"), Rows{"second"});
    EXPECT_EQ(second_file.filename().string().size(),
              std::string("main-01234567.db").size());
    EXPECT_NE(query(database(), "SELECT uuid FROM run"),
              query(second_file, "SELECT uuid FROM run"));
    EXPECT_EQ(query(others() / "rank0-w00.db", "SELECT uuid FROM run"),
              query(second_file, "SELECT uuid FROM run"));
}

TEST_F(RunsTest, EachRankHasAFileAndItsWorkersToo) {
    for (const std::string rank : {"0", "1"}) {
        run_training(
            [] {
                record("main");
                flush();
                EXPECT_EQ(exit_code_of(fork_child([] {
                              set_process(
                                  {.role = ProcessInfo::Role::worker, .worker_id = 0});
                              record("fetch");
                              stop();
                          })),
                          0);
            },
            false,
            {{"RANK", rank},
             {"LOCAL_RANK", rank},
             {"WORLD_SIZE", "2"},
             {"LOCAL_WORLD_SIZE", "2"},
             {"MASTER_ADDR", "localhost"},
             {"MASTER_PORT", "29500"},
             {"TORCHELASTIC_RUN_ID", "none"},
             {"TORCHELASTIC_RESTART_COUNT", "1"}});
    }
    const std::string columns =
        "SELECT role, rank, world_size, attempt FROM process JOIN run ON run.id = "
        "run_id";
    EXPECT_EQ(query(database(), columns), Rows{"main|0|2|2"});
    EXPECT_EQ(query(others() / "rank1.db", columns), Rows{"main|1|2|2"});
    EXPECT_EQ(query(others() / "rank0-w00.db", columns), Rows{"worker|0|2|2"});
    EXPECT_EQ(query(others() / "rank1-w00.db", columns), Rows{"worker|1|2|2"});
    std::set<std::string> runs;
    for (const fs::path& file :
         {database(), others() / "rank1.db", others() / "rank0-w00.db",
          others() / "rank1-w00.db"}) {
        runs.insert(query(file, "SELECT uuid FROM run").at(0));
    }
    EXPECT_EQ(runs.size(), 1U);
}

TEST_F(RunsTest, AProcessMadeARankAfterItsForkIsATrainingProcess) {
    run_training([] {
        record("launcher that records");
        flush();
        EXPECT_EQ(exit_code_of(fork_child([] {
                      setenv("RANK", "1", 1);
                      setenv("WORLD_SIZE", "2", 1);
                      record("main");
                      flush();
                      EXPECT_EQ(exit_code_of(fork_child([] {
                                    record("child of a rank");
                                    stop();
                                })),
                                0);
                      stop();
                  })),
                  0);
    });
    EXPECT_EQ(query(others() / "rank1.db", "SELECT role, rank FROM process"),
              Rows{"main|1"});
    EXPECT_EQ(query(others() / "rank1-c00.db", "SELECT role, rank FROM process"),
              Rows{"child|1"});
    EXPECT_EQ(query(others() / "rank1.db", "SELECT uuid FROM run"),
              query(database(), "SELECT uuid FROM run"));
}

TEST_F(RunsTest, ALauncherThatDoesNotRecordHasNoPartInThem) {
    const auto launcher = in_child([this] {
        start({.database = database()});
        EXPECT_EQ(std::getenv("METATRAIN_TIMING_RUN"), nullptr);
        for (int training = 0; training < 2; ++training) {
            EXPECT_EQ(exit_code_of(fork_child([] {
                          record("main");
                          stop();
                      })),
                      0);
        }
        stop();
    });
    EXPECT_EQ(launcher.exit_code, 0);
    EXPECT_EQ(query(database(),
                    "SELECT role, parent_uuid, count(DISTINCT run_id) "
                    "FROM process GROUP BY role, parent_uuid"),
              Rows{"main|NULL|2"});
    EXPECT_FALSE(fs::exists(others()));
}

TEST_F(RunsTest, ACrashLeavesTheFileToTheNextOne) {
    const auto crash = in_child([this] {
        start({.database = database()});
        record("first");
        flush();
        kill(getpid(), SIGKILL);
    });
    EXPECT_EQ(crash.exit_code, 128 + SIGKILL);
    EXPECT_TRUE(fs::exists(database().string() + ".lock"));
    run_training([] { record("second"); });
    EXPECT_EQ(query(database(), "SELECT ended_ns IS NULL FROM process ORDER BY id"),
              (Rows{"1", "0"}));
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"first", "second"}));
    EXPECT_FALSE(fs::exists(database().string() + ".lock"));
    EXPECT_FALSE(fs::exists(database().string() + "-wal"));
}

TEST_F(RunsTest, KilledAnywhereTheFileIsWholeAndHoldsWhatWasFlushed) {
    constexpr int kRounds = 15;
    constexpr int kRecordsPerToken = 50;
    std::int64_t flushed = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::array<int, 2> progress{};
        ASSERT_EQ(pipe(progress.data()), 0);
        const pid_t victim = fork_child([&] {
            start({.database = database()});
            while (true) {
                for (int index = 0; index < kRecordsPerToken; ++index) {
                    record("work");
                }
                flush();
                EXPECT_EQ(write(progress[1], "x", 1), 1);
            }
        });
        char token = 0;
        for (int wanted = 0; wanted <= 3 * round; ++wanted) {
            ASSERT_EQ(read(progress[0], &token, 1), 1);
        }
        kill(victim, SIGKILL);
        EXPECT_EQ(exit_code_of(victim), 128 + SIGKILL);
        close(progress[0]);
        close(progress[1]);
        flushed += (3 * round + 1) * kRecordsPerToken;
        // What was half written is undone by the first who may write.
        SQLite::Database(database().string(), SQLite::OPEN_READWRITE)
            .exec("SELECT count(*) FROM sqlite_schema");
        EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
        EXPECT_GE(number(database(), "SELECT count(*) FROM interval"), flushed);
        EXPECT_EQ(number(database(), "SELECT count(*) FROM process"), round + 1);
    }
    EXPECT_FALSE(fs::exists(others()));
}

TEST_F(RunsTest, RecordingCanBeStartedAgain) {
    run_training([this] {
        const auto loader = define_loader({.name = "train"});
        const auto pass = define_iterator(loader, 0);
        set_fact("key", "value");
        set_context({.iterator = pass});
        record("first");
        const std::string first = process_uuid();
        stop();
        EXPECT_FALSE(recording());
        record("nowhere");
        ASSERT_TRUE(start({.database = database()}));
        EXPECT_NE(process_uuid(), first);
        EXPECT_EQ(context().iterator, -1);
        set_context({.iterator = pass});
        record("second");
    });
    EXPECT_EQ(query(database(), "SELECT count(*) FROM run"), Rows{"1"});
    EXPECT_EQ(
        query(database(), "SELECT stage, loader FROM v_interval ORDER BY interval_id"),
        (Rows{"first|train", "second|train"}));
    EXPECT_EQ(query(database(),
                    "SELECT process_id, value FROM environment "
                    "WHERE key = 'key' ORDER BY 1"),
              (Rows{"1|value", "2|value"}));
    EXPECT_EQ(query(database(), "SELECT ending FROM process"),
              (Rows{"clean", "clean"}));
}

TEST_F(RunsTest, AFileOfARunIsMadeByItsFirstRecord) {
    run_training([this] {
        define_iterator(define_loader({.name = "train"}), 0);
        set_fact("key", "value");
        fix_identity();
        set_context({.batch = 1});
        flush();
        EXPECT_FALSE(fs::exists(database()));
        record("main");
        flush();
        EXPECT_TRUE(fs::exists(database()));
        EXPECT_EQ(health().file, database());
    });
}

TEST_F(RunsTest, ATrainingThatRecordsNothingLeavesNothing) {
    run_training([] { define_loader({.name = "train"}); });
    EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(RunsTest, TheHostsFactsAreThere) {
    run_training([] {
        record("main");
        flush();
    });
    EXPECT_EQ(query(database(),
                    "SELECT count(*) FROM environment WHERE key IN "
                    "('cpu.affinity', 'cpu.granted', 'host.kernel', "
                    "'recorder.version', 'sqlite.version') AND value <> ''"),
              Rows{"5"});
    EXPECT_EQ(query(database(), "SELECT count(*), min(unix_ns) > 1.6e18 FROM clock"),
              Rows{"2|1"});
}

TEST_F(RunsTest, WhatTheProcessUsesOfTheCpusIsReadNowAndThen) {
    constexpr std::int64_t kComputedNs = 30'000'000;
    run_training([] {
        record("main");
        flush();
        const auto cpu_ns = [] {
            timespec now{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
            return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
        };
        const std::int64_t until_ns = cpu_ns() + kComputedNs;
        while (cpu_ns() < until_ns) {
        }
        record("main");
    });
    // Of threads and of queues only some systems tell.
    const bool tells =
        detail::platform::thread_usage(detail::platform::thread_id()).has_value();
    std::vector<std::string> kinds{"track_id IS NULL"};
    if (tells) {
        kinds.emplace_back("track_id IS NOT NULL");
    }
    for (const std::string& kind : kinds) {
        const std::string of = " FROM cpu_usage WHERE " + kind;
        EXPECT_GE(number(database(), "SELECT count(*)" + of), 2) << kind;
        EXPECT_GE(number(database(), "SELECT max(cpu_ns) - min(cpu_ns)" + of),
                  kComputedNs)
            << kind;
    }
    EXPECT_EQ(query(database(),
                    "SELECT role, thread IS NULL, sum(dur_ns) >= 30000000,"
                    " sum(cpu_ns) >= 30000000, sum(queued_ns) IS NULL FROM v_cpu_usage"
                    " GROUP BY 1, 2 ORDER BY 2"),
              tells ? (Rows{"main|0|1|1|0", "main|1|1|1|0"}) : Rows{"main|1|1|1|1"});
}

TEST_F(RunsTest, AProcessBeganBeforeItsRecords) {
    run_training([] { record("main"); });
    EXPECT_EQ(number(database(),
                     "SELECT min(start_ns) - started_ns BETWEEN 0 AND 5e9 "
                     "FROM interval, process"),
              1);
}

}  // namespace
}  // namespace metatrain_timing
