#include <gtest/gtest.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "recorder/core/src/platform.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

// The test program itself never records: each test records in children of it, so that
// every one is a main process of its own.
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

std::vector<fs::path> databases_in(const fs::path& folder) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".db") {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

class ForkTest : public testing::Test {
  protected:
    fs::path database() const { return folder_ / "run.db"; }
    fs::path others() const { return folder_ / "run.db.d"; }

    /// `body` in a training process that records, to its clean end.
    void run_training(const std::function<void()>& body) {
        const auto result = in_child([&] {
            ASSERT_TRUE(start({.database = database()}));
            body();
            stop();
        });
        EXPECT_EQ(result.exit_code, 0);
        EXPECT_EQ(result.errors, "");
    }

    test::TempFolder folder_;
};

TEST_F(ForkTest, AChildWritesAFileOfItsOwn) {
    run_training([] {
        record("before");
        flush();
        const pid_t child = fork_child([] {
            record("in child");
            stop();
        });
        record("after");
        EXPECT_EQ(exit_code_of(child), 0);
    });

    const fs::path child_file = others() / "rank0-c00.db";
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"before", "after"}));
    EXPECT_EQ(query(child_file, "SELECT stage, role FROM v_interval"),
              (Rows{"in child|child"}));
    EXPECT_EQ(query(child_file, "SELECT uuid FROM run"),
              query(database(), "SELECT uuid FROM run"));
    EXPECT_EQ(query(child_file, "SELECT parent_uuid FROM process"),
              query(database(), "SELECT uuid FROM process"));
    EXPECT_EQ(databases_in(others()), (std::vector<fs::path>{child_file}));
}

TEST_F(ForkTest, AChildThatDoesNotRecordLeavesNothing) {
    run_training([] {
        record("before");
        EXPECT_EQ(exit_code_of(fork_child([] { stop(); })), 0);
    });
    EXPECT_FALSE(fs::exists(others()));
}

TEST_F(ForkTest, AChildOfAChildNamesItsParent) {
    run_training([] {
        record("main");
        const pid_t child = fork_child([] {
            record("child");
            flush();
            EXPECT_EQ(exit_code_of(fork_child([] {
                          record("grandchild");
                          stop();
                      })),
                      0);
            stop();
        });
        EXPECT_EQ(exit_code_of(child), 0);
    });

    const fs::path child = others() / "rank0-c00.db";
    const fs::path grandchild = others() / "rank0-c01.db";
    EXPECT_EQ(query(grandchild, "SELECT parent_uuid FROM process"),
              query(child, "SELECT uuid FROM process"));
    EXPECT_EQ(query(grandchild, "SELECT stage FROM v_interval"), (Rows{"grandchild"}));
    EXPECT_EQ(query(child, "SELECT stage FROM v_interval"), (Rows{"child"}));
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval"), (Rows{"main"}));
}

TEST_F(ForkTest, AnyThreadMayFork) {
    if (!test::kForksWithThreads) {
        GTEST_SKIP() << "ThreadSanitizer cannot follow";
    }
    run_training([] {
        record("main");
        std::thread([] {
            record("thread");
            EXPECT_EQ(exit_code_of(fork_child([] {
                          record("child");
                          stop();
                      })),
                      0);
        }).join();
    });
    EXPECT_EQ(query(others() / "rank0-c00.db", "SELECT stage FROM v_interval"),
              (Rows{"child"}));
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval ORDER BY stage"),
              (Rows{"main", "thread"}));
}

TEST_F(ForkTest, OpenIntervalsAndTheContextStayWithTheParent) {
    run_training([] {
        set_context({.iterator = -1, .batch = 5, .step = 6});
        const OpenInterval open = begin(stage("step"));
        const pid_t child = fork_child([open] {
            const OpenInterval own = begin(stage("own"));
            end(open);
            EXPECT_EQ(context().batch, -1);
            end(own);
            stop();
        });
        EXPECT_EQ(exit_code_of(child), 0);
        end(open);
    });
    EXPECT_EQ(query(database(), "SELECT stage, depth, batch, step FROM v_interval"),
              (Rows{"step|0|5|6"}));
    EXPECT_EQ(
        query(others() / "rank0-c00.db", "SELECT stage, depth, batch FROM v_interval"),
        (Rows{"own|0|NULL"}));
}

TEST_F(ForkTest, AWorkerSaysWhatItIsBeforeItsFirstRecord) {
    run_training([] {
        const auto loader = define_loader({.name = "train", .num_workers = 1});
        const auto other = define_loader({.name = "validation"});
        const auto pass = define_iterator(other, 4);
        fix_identity();
        const pid_t worker = fork_child([&] {
            set_process({.role = ProcessInfo::Role::worker,
                         .worker_id = 3,
                         .loader = other,
                         .start_method = "fork"});
            EXPECT_EQ(define_loader({.name = "validation"}, other), 2);
            EXPECT_EQ(define_iterator(other, 4, pass), 1);
            set_context({.iterator = pass, .batch = 9});
            record("fetch");
            stop();
        });
        EXPECT_EQ(exit_code_of(worker), 0);
        EXPECT_EQ(loader, 1);
    });
    EXPECT_FALSE(fs::exists(database())) << "the training process did not record";
    EXPECT_EQ(query(others() / "rank0-w00.db",
                    "SELECT stage, role, worker, loader, epoch, batch, phase "
                    "FROM v_interval"),
              (Rows{"fetch|worker|3|validation|4|9|unknown"}));
    EXPECT_EQ(query(others() / "rank0-w00.db",
                    "SELECT loader.number, process.start_method FROM process "
                    "JOIN loader ON loader.id = process.loader_id"),
              (Rows{"2|fork"}));
}

TEST_F(ForkTest, AChildHoldsNoDescriptorOfItsParentsFile) {
    run_training([this] {
        record("main");
        flush();
        const pid_t child = fork_child([this] {
            for (const int descriptor : detail::platform::open_descriptors()) {
                std::error_code error;
                const auto target = fs::read_symlink(
                    "/proc/self/fd/" + std::to_string(descriptor), error);
                EXPECT_EQ(target.string().find(database().string()), std::string::npos)
                    << target;
            }
        });
        EXPECT_EQ(exit_code_of(child), 0);
        record("still writing");
    });
    EXPECT_EQ(number(database(), "SELECT count(*) FROM interval"), 2);
}

TEST_F(ForkTest, NoThreadOfTheRecorderIsLeftWhenAForkReturns) {
    if (!test::kForksWithThreads) {
        GTEST_SKIP() << "ThreadSanitizer cannot follow";
    }
    run_training([] {
        record("main");
        const auto thread_count = [] {
            const auto tasks = fs::directory_iterator("/proc/self/task");
            return std::distance(begin(tasks), end(tasks));
        };
        EXPECT_EQ(thread_count(), 2);
        const pid_t child = fork_child([] {});
        EXPECT_EQ(thread_count(), 1);  // Python 3.12 warns of more
        record("restarts it");
        EXPECT_EQ(thread_count(), 2);
        EXPECT_EQ(exit_code_of(child), 0);
    });
}

TEST_F(ForkTest, NoChildHangsWhileTheDrainIsBusy) {
    if (!test::kForksWithThreads) {
        GTEST_SKIP() << "ThreadSanitizer cannot follow";
    }
    constexpr int kForks = 200;
    run_training([] {
        fix_identity();
        std::atomic<bool> done = false;
        std::thread busy([&done] {
            while (!done) {
                for (int index = 0; index < 1000; ++index) {
                    record("busy");
                }
                flush();
            }
        });
        for (int index = 0; index < kForks; ++index) {
            const pid_t child = fork_child([] {
                alarm(60);  // a child that hangs ends by it, and fails the test
                record("child");
                stop();
            });
            record("main");
            EXPECT_EQ(exit_code_of(child), 0);
        }
        done = true;
        busy.join();
    });
    EXPECT_EQ(
        number(database(), "SELECT calls FROM v_stage_summary WHERE stage = 'main'"),
        kForks);
    EXPECT_EQ(number(database(), "SELECT dropped_count FROM process"), 0);
    const fs::path child_file = others() / "rank0-c00.db";
    EXPECT_EQ(databases_in(others()), (std::vector<fs::path>{child_file}));
    EXPECT_EQ(number(child_file, "SELECT count(*) FROM interval"), kForks);
    EXPECT_EQ(number(child_file, "SELECT count(*) FROM process WHERE ending = 'clean'"),
              kForks);
}

TEST_F(ForkTest, ShortLivesShareAsManyFilesAsThereAreAtOnce) {
    constexpr int kLives = 300;
    constexpr int kAtOnce = 8;
    run_training([] {
        record("main");
        std::vector<pid_t> alive;
        for (int life = 0; life < kLives; ++life) {
            if (alive.size() == kAtOnce) {
                EXPECT_EQ(exit_code_of(alive.front()), 0);
                alive.erase(alive.begin());
            }
            alive.push_back(fork_child([life] {
                set_process({.role = ProcessInfo::Role::worker, .worker_id = life});
                record("fetch");
                record("fetch");
                // Every other one is killed, as far as the recorder can tell.
                life % 2 == 0 ? stop() : flush();
            }));
        }
        for (const pid_t pid : alive) {
            EXPECT_EQ(exit_code_of(pid), 0);
        }
    });
    std::vector<std::int64_t> lives;
    for (const fs::path& file : databases_in(others())) {
        EXPECT_EQ(query(file, "PRAGMA integrity_check"), (Rows{"ok"})) << file;
        for (const std::string& row :
             query(file,
                   "SELECT worker FROM v_interval GROUP BY worker "
                   "HAVING count(*) = 2 ORDER BY worker")) {
            lives.push_back(std::stoll(row));
        }
    }
    std::sort(lives.begin(), lives.end());
    ASSERT_EQ(lives.size(), kLives);
    EXPECT_EQ(lives.front(), 0);
    EXPECT_EQ(lives.back(), kLives - 1);
    EXPECT_LE(databases_in(others()).size(), kAtOnce);
}

TEST_F(ForkTest, AChildStartedByExecBelongsToTheRun) {
    // What exec passes on is the environment; a fresh process that has it is like one.
    const auto result = in_child([this] {
        ASSERT_TRUE(start({.database = database()}));
        fix_identity();
        record("main");
        stop();
        for (const auto& variable : environment_for_children()) {
            if (variable.name == "METATRAIN_TIMING_RUN") {
                std::fprintf(stderr, "%s", variable.value.c_str());
            }
        }
    });
    ASSERT_EQ(result.exit_code, 0);
    EXPECT_EQ(in_child([&] {
                  setenv("METATRAIN_TIMING_RUN", result.errors.c_str(), 1);
                  ASSERT_TRUE(start({.database = database()}));
                  record("child");
                  stop();
              }).exit_code,
              0);
    EXPECT_EQ(query(others() / "rank0-c00.db", "SELECT uuid FROM run"),
              query(database(), "SELECT uuid FROM run"));
    EXPECT_EQ(query(others() / "rank0-c00.db", "SELECT role FROM process"),
              (Rows{"child"}));
}

}  // namespace
}  // namespace metatrain_timing
