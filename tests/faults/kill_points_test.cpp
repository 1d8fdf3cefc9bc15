#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/faults/scene.hpp"
#include "tests/recorder/full_ring.hpp"
#include "tests/support/in_memory.hpp"

// A process killed before each of its system calls in turn, until none is left: not at
// random, so that no instant is missed. The short form takes a part of them.
namespace metatrain_timing::test {
namespace {

constexpr int kSteps = 3;
constexpr int kPerStep = 20;

/// The call after the one with number `at`. The short form leaves more and more of them
/// out.
int next_point(int at) {
    return std::getenv("MT_LONG_TESTS") != nullptr ? at + 1 : at + 1 + at / 5;
}

class KillPoints : private InMemory, public Scene {
  protected:
    KillPoints() {
        setenv("METATRAIN_TIMING_RING_DIR", (folder_ / "rings").c_str(), 1);
    }
    ~KillPoints() override { unsetenv("METATRAIN_TIMING_RING_DIR"); }

    /// A training that notes each step in a file of its own once that has ended.
    void train_with_a_log(const std::string& faults) const {
        start({.database = database()});
        mt_set_faults(faults.c_str());
        std::ofstream log(folder_ / "log");
        const OpenInterval whole = begin(stage("whole"));
        for (int step = 0; step < kSteps; ++step) {
            set_context({.step = step});
            record("work", kPerStep);
            log << step << std::endl;
            flush();
        }
        end(whole);
        stop();
    }

    int logged_steps() const {
        std::ifstream log(folder_ / "log");
        int count = 0;
        for (std::string line; std::getline(log, line);) {
            ++count;
        }
        return count;
    }

    /// Everything that is beside the test's own notes.
    void clear() const {
        for (const auto& entry : fs::directory_iterator(folder_.path())) {
            fs::remove_all(entry.path());
        }
    }
};

class AnyCall : public KillPoints, public testing::WithParamInterface<const char*> {};

TEST_P(AnyCall, KilledBeforeItNothingIsLostAndNothingIsTwice) {
    int exit_code = kKilled;
    int points = 0;
    for (int at = 1; exit_code == kKilled; at = next_point(at)) {
        clear();
        const std::string faults =
            std::string(GetParam()) + ":" + std::to_string(at) + ":kill";
        exit_code = in_child([&] {
                        alarm(kHangs_s);
                        train_with_a_log(faults);
                    }).exit_code;
        points += exit_code == kKilled ? 1 : 0;
        recover(database());
        EXPECT_TRUE(rings().empty()) << faults;
        const int logged = logged_steps();
        if (!fs::exists(database())) {
            EXPECT_EQ(logged, 0) << faults;
            continue;
        }
        expect_sound();
        const std::int64_t found =
            number(database(), "SELECT count(*) FROM v_interval WHERE stage = 'work'");
        // Killed between the end of a step and its note, one more is there.
        EXPECT_GE(found, std::int64_t{logged} * kPerStep) << faults;
        EXPECT_LE(found, std::int64_t{logged + 1} * kPerStep) << faults;
        EXPECT_EQ(query(database(),
                        "SELECT step FROM v_interval WHERE stage = 'work' "
                        "GROUP BY step HAVING count(*) > " +
                            std::to_string(kPerStep)),
                  Rows{})
            << faults;
    }
    EXPECT_EQ(exit_code, 0);
    EXPECT_EQ(logged_steps(), kSteps);
    EXPECT_GE(points, 1) << "there is nothing to be killed at";
}

INSTANTIATE_TEST_SUITE_P(Calls, AnyCall,
                         testing::Values("write@run.db", "open@run.db", "fcntl@run.db",
                                         "mmap@run.db", "open@.ring", "fcntl@.ring",
                                         "fallocate@.ring", "mmap@.ring"),
                         [](const auto& of) {
                             std::string name = of.param;
                             std::replace_if(
                                 name.begin(), name.end(),
                                 [](char c) { return c == '@' || c == '.'; }, '_');
                             return name;
                         });

// Drops some in each of two rounds, which take a flush each.
TEST_F(KillPoints, KilledBeforeAnyWriteSumsOfDroppedRecordsAreThereOnce) {
    int exit_code = kKilled;
    for (int at = 1; exit_code == kKilled; at = next_point(at)) {
        clear();
        const std::string faults = "write@run.db:" + std::to_string(at) + ":kill";
        exit_code = in_child([&] {
                        alarm(kHangs_s);
                        start({.database = database()});
                        record("first");
                        flush();
                        mt_set_faults(faults.c_str());
                        std::ofstream log(folder_ / "log");
                        for (int round = 0; round < 2; ++round) {
                            FullRing full(database());
                            for (int index = 0; index < kPerStep; ++index) {
                                add(stage("work"), 0, 3, {});
                                count(counter("atoms"), 2);
                            }
                            log << round << std::endl;
                            full.release();
                            flush();
                        }
                        stop();
                    }).exit_code;
        recover(database());
        expect_sound();
        const std::string calls = std::to_string(logged_steps() * kPerStep);
        EXPECT_EQ(query(database(),
                        "SELECT sum(calls), sum(total_ns) / 3 FROM interval_total"),
                  Rows{calls + "|" + calls})
            << faults;
        EXPECT_EQ(
            query(database(), "SELECT sum(calls), sum(value) / 2 FROM counter_total"),
            Rows{calls + "|" + calls + ".0"})
            << faults;
    }
    EXPECT_EQ(exit_code, 0);
    EXPECT_EQ(logged_steps(), 2);
}

class Recovery : public KillPoints, public testing::WithParamInterface<const char*> {};

// What saves the records is killed itself, and so is the next one, one call later.
TEST_P(Recovery, KilledBeforeAnyOfItsCallsTheNextOneGoesOn) {
    const auto victim = train_and_die([] {
        for (int step = 0; step < kSteps; ++step) {
            set_context({.step = step});
            record("work", kPerStep);
            if (step == 1) {
                flush();
            }
        }
        begin(stage("collate"));
    });
    ASSERT_EQ(victim.exit_code, kKilled);
    TempFolder kept;
    fs::copy(folder_.path(), kept.path(), fs::copy_options::recursive);

    int exit_code = kKilled;
    int points = 0;
    for (int at = 1; exit_code == kKilled; at = next_point(at)) {
        clear();
        fs::copy(kept.path(), folder_.path(), fs::copy_options::recursive);
        for (const int attempt : {at, at + 1}) {
            const std::string faults =
                std::string(GetParam()) + ":" + std::to_string(attempt) + ":kill";
            exit_code = in_child([&] {
                            alarm(kHangs_s);
                            mt_set_faults(faults.c_str());
                            recover(database());
                        }).exit_code;
            points += exit_code == kKilled ? 1 : 0;
        }
        recover(database());
        EXPECT_TRUE(rings().empty());
        expect_sound();
        EXPECT_EQ(query(database(),
                        "SELECT count(*), count(DISTINCT step), "
                        "count(DISTINCT start_ns) FROM interval"),
                  Rows{"60|3|60"});
        EXPECT_EQ(query(database(),
                        "SELECT stage.name FROM open_interval "
                        "JOIN stage ON stage.id = stage_id"),
                  Rows{"collate"});
        EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"killed"});
    }
    EXPECT_EQ(exit_code, 0);
    EXPECT_GT(points, 1);
}

INSTANTIATE_TEST_SUITE_P(Calls, Recovery,
                         testing::Values("write@run.db", "write@.ring", "open@run.db",
                                         "fcntl@run.db"),
                         [](const auto& of) {
                             std::string name = of.param;
                             std::replace_if(
                                 name.begin(), name.end(),
                                 [](char c) { return c == '@' || c == '.'; }, '_');
                             return name;
                         });

}  // namespace
}  // namespace metatrain_timing::test
