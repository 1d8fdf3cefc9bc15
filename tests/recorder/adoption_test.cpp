#include "recorder/core/src/adoption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>
#include "recorder/core/src/ring_places.hpp"
#include "tests/recorder/full_ring.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

// Processes are killed; what they had recorded is in the database all the same, once.
namespace metatrain_timing::detail {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;
using test::exit_code_of;
using test::fork_child;
using test::in_child;
using test::number;
using test::query;

constexpr int kKilled = 128 + SIGKILL;

int rounds() {
    return std::getenv("MT_LONG_TESTS") != nullptr ? 1000 : 25;
}

void record(const char* name) {
    const Interval interval(stage(name));
}

class AdoptionTest : public testing::Test {
  protected:
    fs::path database() const { return folder_ / "run.db"; }

    std::vector<Adopted> adopt() const {
        return adopt_dead_rings(database(), std::chrono::steady_clock::now() +
                                                std::chrono::seconds(60))
            .adopted;
    }

    /// Runs `body` in a process that records and is then killed.
    void kill_after(const std::function<void()>& body) const {
        const auto victim = in_child([&] {
            start({.database = database()});
            body();
            kill(getpid(), SIGKILL);
        });
        EXPECT_EQ(victim.exit_code, kKilled);
        EXPECT_EQ(victim.errors, "");
    }

    test::TempFolder folder_;
};

TEST_F(AdoptionTest, WhatWasNeverWrittenIsSavedWithAllThatBelongsToIt) {
    kill_after([] {
        const auto loader = define_loader({.name = "train", .num_workers = 2});
        const auto pass = define_iterator(loader, 3);
        iterator_first_wait(pass);
        set_fact("key", "value");
        note_problem("code", "a problem");
        set_thread_name("Main");
        set_context({.iterator = pass, .batch = 5, .step = 7});
        record("first");
        count(counter("atoms"), 12);
        begin(stage("outer"));
        begin(stage("inner"));
    });
    EXPECT_FALSE(fs::exists(database()));
    EXPECT_EQ(find_rings(database()).size(), 1U);

    const auto adopted = adopt();
    ASSERT_EQ(adopted.size(), 1U);
    EXPECT_EQ(adopted[0].record_count, 2);
    EXPECT_EQ(adopted[0].database, database());
    EXPECT_TRUE(find_rings(database()).empty());
    EXPECT_EQ(query(database(), "SELECT role, ending, ended_ns IS NULL FROM process"),
              Rows{"main|killed|1"});
    EXPECT_EQ(
        query(database(), "SELECT stage, loader, epoch, batch, step FROM v_interval"),
        Rows{"first|train|3|5|7"});
    EXPECT_EQ(query(database(), "SELECT name FROM track"), Rows{"Main"});
    EXPECT_EQ(query(database(),
                    "SELECT stage.name, depth, batch FROM open_interval "
                    "JOIN stage ON stage.id = stage_id ORDER BY depth"),
              (Rows{"outer|0|5", "inner|1|5"}));
    EXPECT_EQ(query(database(), "SELECT value, batch FROM counter"), Rows{"12.0|5"});
    EXPECT_EQ(query(database(), "SELECT value FROM environment WHERE key = 'key'"),
              Rows{"value"});
    EXPECT_EQ(query(database(), "SELECT code, text FROM health"),
              Rows{"code|a problem"});
    EXPECT_EQ(query(database(), "SELECT count(*) FROM clock"), Rows{"1"});
    EXPECT_TRUE(adopt().empty());
}

TEST_F(AdoptionTest, WhatWasWrittenBeforeIsNotWrittenTwice) {
    kill_after([] {
        const auto pass = define_iterator(define_loader({.name = "train"}), 0);
        set_context({.iterator = pass});
        note_problem("code", "a problem");
        record("written");
        flush();
        iterator_ended(pass, true);
        record("not written");
    });
    EXPECT_EQ(adopt().size(), 1U);
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"written", "not written"}));
    EXPECT_EQ(query(database(), "SELECT count(*) FROM track"), Rows{"1"});
    EXPECT_EQ(query(database(), "SELECT exhausted FROM iterator"), Rows{"1"});
    EXPECT_EQ(query(database(), "SELECT count(*) FROM health"), Rows{"1"});
}

TEST_F(AdoptionTest, SumsOfWhatAFullRingDroppedAreSaved) {
    kill_after([this] {
        const auto pass = define_iterator(define_loader({.name = "train"}), 0);
        record("first");
        flush();
        const test::FullRing full(database());
        set_context({.iterator = pass});
        begin(stage("fetch"));
        add(stage("collate"), 100, 120, {.iterator = pass});
        add(stage("collate"), 200, 201, {.iterator = pass});
        count(counter("atoms"), 7);
        count(counter("atoms"), std::nan(""));
        kill(getpid(), SIGKILL);
    });
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval_total"), Rows{"0"});
    EXPECT_EQ(adopt().size(), 1U);
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"8193"});
    EXPECT_EQ(
        query(database(), test::kSumsByPath),
        (Rows{"fetch|1|0|0|NULL|0|NULL|NULL", "fetch/collate|1|2|21|NULL|0|100|201"}));
    EXPECT_EQ(query(database(), "SELECT iterator_id, calls, value FROM counter_total"),
              Rows{"1|1|7.0"});
    EXPECT_EQ(query(database(), "SELECT dropped_count, unsummed_count FROM process"),
              Rows{"4|1"});
}

TEST_F(AdoptionTest, SumsThatWereWrittenBeforeGrowByTheRest) {
    kill_after([this] {
        const auto loader = define_loader({.name = "train"});
        record("first");
        flush();
        // The second round begins another generation of sums, the third one goes on.
        for (int round = 0; round < 3; ++round) {
            if (round > 0) {
                flush();
            }
            test::FullRing full(database());
            for (int index = 0; index < 50; ++index) {
                const auto pass = define_iterator(loader, index);
                add(stage("collate"), 0, 2, {.iterator = pass});
                set_context({.iterator = pass});
                count(counter("atoms"), 3);
            }
            add(stage("send"), 0, 5, {});
            if (round < 2) {
                full.release();
            } else {
                kill(getpid(), SIGKILL);
            }
        }
    });
    EXPECT_EQ(adopt().size(), 1U);
    EXPECT_EQ(query(database(),
                    "SELECT stage, calls, total_ns FROM v_stage_summary"
                    " WHERE stage <> 'fill' AND stage <> 'first' ORDER BY stage"),
              (Rows{"collate|150|300", "send|3|15"}));
    EXPECT_EQ(query(database(), "SELECT sum(calls), sum(value) FROM counter_total"),
              Rows{"150|450.0"});
    EXPECT_EQ(query(database(), "SELECT dropped_count, unsummed_count FROM process"),
              Rows{"303|0"});
}

TEST_F(AdoptionTest, TheLivingAreLeftAlone) {
    std::array<int, 2> ready{};
    std::array<int, 2> go{};
    ASSERT_EQ(pipe(ready.data()), 0);
    ASSERT_EQ(pipe(go.data()), 0);
    const pid_t living = fork_child([&] {
        start({.database = database()});
        record("first");
        char token = 'x';
        EXPECT_EQ(write(ready[1], &token, 1), 1);
        EXPECT_EQ(read(go[0], &token, 1), 1);
        EXPECT_TRUE(adopt().empty());  // nor does it take itself for dead
        record("second");
        stop();
    });
    char token = 0;
    ASSERT_EQ(read(ready[0], &token, 1), 1);
    EXPECT_EQ(find_rings(database()).size(), 1U);
    EXPECT_TRUE(adopt().empty());
    ASSERT_EQ(write(go[1], &token, 1), 1);
    EXPECT_EQ(exit_code_of(living), 0);
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"first", "second"}));
    EXPECT_TRUE(find_rings(database()).empty());
}

TEST_F(AdoptionTest, AParentSavesWhatItsChildrenLeft) {
    const auto parent = in_child([this] {
        start({.database = database()});
        record("parent");
        for (int child = 0; child < 3; ++child) {
            const pid_t pid = fork_child([child] {
                set_process({.role = ProcessInfo::Role::worker, .worker_id = child});
                record("worker");
                begin(stage("collate"));
                kill(getpid(), SIGKILL);
            });
            EXPECT_EQ(exit_code_of(pid), kKilled);
        }
        stop();
    });
    EXPECT_EQ(parent.exit_code, 0);
    EXPECT_EQ(parent.errors, "");
    EXPECT_TRUE(find_rings(database()).empty());
    int killed = 0;
    for (const auto& file : fs::directory_iterator(folder_ / "run.db.d")) {
        ASSERT_EQ(file.path().extension(), ".db") << file.path();
        killed += static_cast<int>(number(
            file.path(), "SELECT count(*) FROM process WHERE ending = 'killed'"));
        EXPECT_EQ(query(file.path(), "SELECT DISTINCT stage FROM v_interval"),
                  Rows{"worker"});
        EXPECT_EQ(query(file.path(),
                        "SELECT DISTINCT stage.name FROM open_interval "
                        "JOIN stage ON stage.id = stage_id"),
                  Rows{"collate"});
    }
    EXPECT_EQ(killed, 3);
}

// What a victim has recorded according to itself: it says so after each interval ended.
struct Victim {
    pid_t pid = 0;
    int said = -1;

    std::int64_t last_said() const {
        std::int64_t last = -1;
        std::int64_t next = 0;
        while (read(said, &next, sizeof next) == sizeof next) {
            last = next;
        }
        return last;
    }
};

Victim start_victim(const fs::path& database) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
        return {};
    }
    const pid_t pid = fork_child([&] {
        close(ends[0]);
        start({.database = database});
        const StageId work = stage("work");
        for (std::int64_t step = 0;; ++step) {
            set_context({.step = step});
            {
                const Interval interval(work);
            }
            usleep(20);
            if (write(ends[1], &step, sizeof step) != sizeof step) {
                _exit(3);
            }
        }
    });
    close(ends[1]);
    return {pid, ends[0]};
}

TEST_F(AdoptionTest, KilledAtAnyInstantNothingIsLostAndNothingIsTwice) {
    std::mt19937 random(20'261'129);  // NOLINT(cert-msc51-cpp): the same each time
    std::uniform_int_distribution<int> wait_us(0, 120'000);
    std::vector<std::int64_t> said;
    for (int round = 0; round < rounds(); ++round) {
        const Victim victim = start_victim(database());
        std::int64_t first = 0;
        ASSERT_EQ(read(victim.said, &first, sizeof first),
                  static_cast<ssize_t>(sizeof first));
        // Its pipe is read meanwhile, so that it is not held up by it.
        std::thread killer([&] {
            usleep(static_cast<useconds_t>(wait_us(random)));
            kill(victim.pid, SIGKILL);
        });
        said.push_back(std::max(first, victim.last_said()));
        killer.join();
        EXPECT_EQ(exit_code_of(victim.pid), kKilled);
        close(victim.said);
        adopt();
        EXPECT_TRUE(find_rings(database()).empty());
    }
    EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
    ASSERT_EQ(number(database(), "SELECT count(*) FROM process"), rounds());
    for (int round = 0; round < rounds(); ++round) {
        // Steps 0, 1, 2, … each once, up to the last one said, or the one after it.
        const std::string of_round =
            " FROM interval JOIN track ON track.id = track_id WHERE process_id = " +
            std::to_string(round + 1);
        const std::int64_t count = number(database(), "SELECT count(*)" + of_round);
        EXPECT_EQ(number(database(), "SELECT count(DISTINCT step)" + of_round), count);
        // On a busy machine the drain may come too late: such records are counted.
        const std::int64_t dropped =
            number(database(), "SELECT dropped_count FROM process WHERE id = " +
                                   std::to_string(round + 1));
        if (dropped == 0) {
            EXPECT_EQ(number(database(), "SELECT max(step) + 1" + of_round), count);
        }
        const std::int64_t last = said[static_cast<std::size_t>(round)];
        EXPECT_GE(count + dropped, last + 1);
        EXPECT_LE(count + dropped, last + 2);
    }
}

TEST_F(AdoptionTest, KilledWhileItDropsNothingIsLostAndNothingIsTwice) {
    std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same each time
    std::uniform_int_distribution<int> wait_us(0, 60'000);
    // A slow victim fills no ring in the time: then it gets more rounds, and longer
    // ones.
    const int most = 10 * rounds();
    bool has_dropped = false;
    for (int round = 0; round < rounds() || (!has_dropped && round < most); ++round) {
        std::array<int, 2> ends{};
        ASSERT_EQ(pipe(ends.data()), 0);
        const pid_t victim = fork_child([&] {
            close(ends[0]);
            start({.database = database()});
            const StageId work = stage("work");
            const StageId outer = stage("outer");
            for (std::int64_t said = 0;; said += 1000) {
                if (write(ends[1], &said, sizeof said) != sizeof said) {
                    _exit(3);
                }
                for (int index = 0; index < 1000; ++index) {
                    const auto open = begin(outer);
                    add(work, 0, 7, {});
                    cancel(open);
                }
            }
        });
        close(ends[1]);
        std::thread killer([&] {
            usleep(static_cast<useconds_t>(wait_us(random) * (1 + round / rounds())));
            kill(victim, SIGKILL);
        });
        const std::int64_t said = Victim{victim, ends[0]}.last_said();
        killer.join();
        EXPECT_EQ(exit_code_of(victim), kKilled);
        close(ends[0]);
        adopt();
        if (said < 1000) {
            continue;  // it may not even have a row
        }
        const Rows sums = query(
            database(),
            "SELECT sum(calls), sum(calls) * 7 = sum(total_ns), sum(dropped) FROM"
            " (SELECT count(*) AS calls, sum(dur_ns) AS total_ns, 0 AS dropped,"
            "   track_id FROM interval GROUP BY track_id"
            "  UNION ALL SELECT calls, total_ns, calls, track_id FROM interval_total)"
            " JOIN track ON track.id = track_id"
            " GROUP BY process_id ORDER BY process_id DESC LIMIT 1");
        ASSERT_EQ(sums.size(), 1U);
        std::int64_t calls = 0;
        std::int64_t is_exact = 0;
        std::int64_t dropped = 0;
        ASSERT_EQ(
            std::sscanf(sums[0].c_str(), "%ld|%ld|%ld", &calls, &is_exact, &dropped),
            3);
        has_dropped |= dropped > 0;
        EXPECT_GE(calls, said);
        EXPECT_LE(calls, said + 1000);
        EXPECT_EQ(is_exact, 1);
        const std::int64_t known = number(
            database(), "SELECT dropped_count FROM process ORDER BY id DESC LIMIT 1");
        EXPECT_GE(known, dropped - 1);  // counted after it was summed
        EXPECT_LE(known, dropped);
    }
    EXPECT_TRUE(has_dropped);
}

TEST_F(AdoptionTest, KilledWhileItSavesTheNextOneGoesOn) {
    constexpr int kRecords = 6000;
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp)
    std::uniform_int_distribution<int> wait_us(0, 30'000);
    for (int round = 0; round < rounds() / 5; ++round) {
        kill_after([] {
            for (std::int64_t step = 0; step < kRecords; ++step) {
                set_context({.step = step});
                record("work");
            }
        });
        for (int attempt = 0; attempt < 5; ++attempt) {
            const pid_t adopter = fork_child([this] { adopt(); });
            usleep(static_cast<useconds_t>(wait_us(random)));
            kill(adopter, SIGKILL);
            exit_code_of(adopter);
        }
        adopt();
        EXPECT_TRUE(find_rings(database()).empty());
    }
    EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
    EXPECT_EQ(
        number(database(), "SELECT count(*) FROM process WHERE ending = 'killed'"),
        rounds() / 5);
    EXPECT_EQ(number(database(), "SELECT count(*) FROM interval"),
              static_cast<std::int64_t>(rounds() / 5) * kRecords);
    EXPECT_EQ(query(database(),
                    "SELECT DISTINCT count(*), count(DISTINCT step) FROM interval "
                    "JOIN track ON track.id = track_id GROUP BY process_id"),
              Rows{std::to_string(kRecords) + "|" + std::to_string(kRecords)});
}

TEST_F(AdoptionTest, OfSeveralWhoTryOneSucceeds) {
    kill_after([] { record("work"); });
    std::vector<pid_t> adopters;
    for (int index = 0; index < 8; ++index) {
        adopters.push_back(
            fork_child([this] { _exit(static_cast<int>(adopt().size())); }));
    }
    int adopted = 0;
    for (const pid_t adopter : adopters) {
        adopted += exit_code_of(adopter);
    }
    EXPECT_EQ(adopted, 1);
    EXPECT_EQ(number(database(), "SELECT count(*) FROM interval"), 1);
}

TEST_F(AdoptionTest, AFileThatIsInUseIsLeftToItsOwner) {
    kill_after([] {
        record("first run");
        flush();
        record("after the flush");
    });
    const auto second = in_child([this] {
        start({.database = database()});
        record("second run");
        flush();
        // The dead one's records came in before the file was opened.
        EXPECT_TRUE(adopt().empty());
        stop();
    });
    EXPECT_EQ(second.exit_code, 0);
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"first run", "after the flush", "second run"}));
    EXPECT_FALSE(fs::exists(folder_ / "run.db.d"));
}

TEST_F(AdoptionTest, RingsOfDeletedRunsAreRemoved) {
    const fs::path deleted = folder_ / "deleted";
    fs::create_directory(deleted);
    const auto victim = in_child([&] {
        start({.database = deleted / "run.db"});
        record("work");
        kill(getpid(), SIGKILL);
    });
    EXPECT_EQ(victim.exit_code, kKilled);
    ASSERT_EQ(find_rings(deleted / "run.db").size(), 1U);
    remove_orphaned_rings(database());
    EXPECT_EQ(find_rings(deleted / "run.db").size(), 1U);
    fs::remove_all(deleted);
    remove_orphaned_rings(database());
    EXPECT_TRUE(find_rings(deleted / "run.db").empty());
}

TEST_F(AdoptionTest, ARunThatWasDeletedDoesNotComeBack) {
    kill_after([] {
        record("written");
        flush();
        record("not written");
    });
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
        fs::remove(database().string() + suffix);
    }
    EXPECT_TRUE(adopt().empty());
    EXPECT_TRUE(find_rings(database()).empty());
    EXPECT_FALSE(fs::exists(database()));
}

TEST_F(AdoptionTest, WithoutAPlaceForTheFileRecordingGoesOn) {
    const auto child = in_child([this] {
        setenv("METATRAIN_TIMING_RING_DIR", "/nowhere", 1);
        start({.database = database()});
        record("work");
        stop();
    });
    EXPECT_EQ(child.exit_code, 0);
    EXPECT_EQ(child.errors, "");
    EXPECT_EQ(number(database(), "SELECT count(*) FROM interval"), 1);
}

}  // namespace
}  // namespace metatrain_timing::detail
