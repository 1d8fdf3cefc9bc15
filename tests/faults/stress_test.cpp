
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "recorder/core/src/platform.hpp"
#include "tests/faults/scene.hpp"
#include "tests/support/in_memory.hpp"

// Processes killed at random instants, many times, and forks while the database is
// being written. What was recorded is known from a log that each process keeps by
// itself. Short here; scripts/stress.sh runs the long form and prints the figures.
namespace metatrain_timing::test {
namespace {

int rounds() {
    return std::getenv("MT_LONG_TESTS") != nullptr ? 1000 : 12;
}

/// What went wrong, and how often; also the properties of the test, for the table.
struct Figures {
    std::int64_t records = 0;  // logged
    std::int64_t lost = 0;
    std::int64_t twice = 0;
    std::int64_t unnamed = 0;  // killed processes of which no open stage is known
    std::int64_t unsound = 0;  // databases
    std::int64_t hung = 0;

    void expect_none(int count) const {
        for (const auto& [name, value] :
             std::map<std::string, std::int64_t>{{"rounds", count},
                                                 {"records", records},
                                                 {"lost", lost},
                                                 {"twice", twice},
                                                 {"unnamed", unnamed},
                                                 {"unsound", unsound},
                                                 {"hung", hung}}) {
            testing::Test::RecordProperty(name, std::to_string(value));
        }
        EXPECT_EQ(lost, 0);
        EXPECT_EQ(twice, 0);
        EXPECT_EQ(unnamed, 0);
        EXPECT_EQ(unsound, 0);
        EXPECT_EQ(hung, 0);
    }
};

/// Records for ever, and logs each interval after its end. `life` tells its rows.
void work(const fs::path& log, int life, bool flushes = false) {
    const int descriptor =
        open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    set_fact("life", std::to_string(life));
    const StageId stage_of_work = stage("work");
    begin(stage("step"));
    for (std::int64_t step = 0;; ++step) {
        set_context({.step = step});
        {
            const Interval interval(stage_of_work);
        }
        if (write(descriptor, &step, sizeof step) != sizeof step) {
            _exit(3);
        }
        usleep(20);
        if (flushes && step % 50 == 49) {
            flush();
        }
    }
}

class Stress : private InMemory, public Scene {
  protected:
    fs::path log_of(int life) const {
        return folder_ / ("log-" + std::to_string(life));
    }

    void wait_for_log(int life) const {
        while (!fs::exists(log_of(life)) || fs::file_size(log_of(life)) == 0) {
            usleep(200);
        }
    }

    std::vector<fs::path> databases() const {
        std::vector<fs::path> files;
        if (fs::exists(database())) {
            files.push_back(database());
        }
        if (fs::exists(others())) {
            for (const auto& entry : fs::directory_iterator(others())) {
                if (entry.path().extension() == ".db") {
                    files.push_back(entry.path());
                }
            }
        }
        return files;
    }

    /// Compares all databases with the logs of lives 0, 1, … count - 1.
    Figures compare(int count) const {
        struct Found {
            std::int64_t rows = 0;
            std::int64_t steps = 0;
            std::int64_t dropped = 0;
            std::int64_t killed = 0;
            std::int64_t named = 0;
        };
        Figures figures;
        std::map<std::int64_t, Found> lives;
        for (const fs::path& file : databases()) {
            const SQLite::Database opened(file.string(), SQLite::OPEN_READONLY, 2000);
            figures.unsound += query(opened, "PRAGMA integrity_check") != Rows{"ok"};
            if (!opened.tableExists("process")) {
                continue;  // killed while it was made; the records went elsewhere
            }
            SQLite::Statement rows(
                opened,
                "SELECT CAST(environment.value AS INTEGER), count(interval.id), "
                "count(DISTINCT interval.step), process.dropped_count, "
                "process.ending = 'killed', "
                "EXISTS (SELECT 1 FROM open_interval JOIN track ON track.id = track_id "
                "JOIN stage ON stage.id = stage_id WHERE depth = 0 "
                "AND stage.name = 'step' AND track.process_id = process.id) "
                "FROM process "
                "JOIN environment ON environment.process_id = process.id "
                "AND environment.key = 'life' "
                "LEFT JOIN track ON track.process_id = process.id "
                "LEFT JOIN interval ON interval.track_id = track.id "
                "GROUP BY process.id");
            while (rows.executeStep()) {
                const std::int64_t life = rows.getColumn(0).getInt64();
                figures.twice += lives.contains(life);
                lives[life] = {
                    rows.getColumn(1).getInt64(), rows.getColumn(2).getInt64(),
                    rows.getColumn(3).getInt64(), rows.getColumn(4).getInt64(),
                    rows.getColumn(5).getInt64()};
            }
        }
        for (int life = 0; life < count; ++life) {
            const std::int64_t logged =
                fs::exists(log_of(life))
                    ? static_cast<std::int64_t>(fs::file_size(log_of(life)) / 8)
                    : 0;
            const Found found = lives[life];
            figures.records += logged;
            // A full ring counts what it drops; a kill between the end of an interval
            // and its line in the log leaves one more.
            const std::int64_t known = found.rows + found.dropped;
            figures.lost += std::max<std::int64_t>(0, logged - known);
            figures.twice += found.rows - found.steps;
            figures.twice += std::max<std::int64_t>(0, known - logged - 1);
            figures.unnamed +=
                logged > 0 && (found.killed == 0 || found.named == 0) ? 1 : 0;
        }
        return figures;
    }

    std::mt19937 random_{20'261'129};  // NOLINT(cert-msc51-cpp): the same each time
    int below(int limit) {
        return static_cast<int>(random_() % static_cast<unsigned>(limit));
    }
    void wait_a_while() { usleep(static_cast<useconds_t>(below(100'000))); }
};

TEST_F(Stress, ATrainingKilledAtAnyInstant) {
    for (int life = 0; life < rounds(); ++life) {
        const pid_t victim = fork_child([&] {
            start({.database = database()});
            work(log_of(life), life);
        });
        if (life % 4 != 0) {
            wait_for_log(life);
        }
        wait_a_while();
        kill(victim, SIGKILL);
        EXPECT_EQ(exit_code_of(victim), kKilled);
        if (life % 2 == 0) {  // else the next training does it
            recover(database());
        }
    }
    recover(database());
    EXPECT_TRUE(rings().empty());
    compare(rounds()).expect_none(rounds());
}

TEST_F(Stress, AWorkerKilledAtAnyInstant) {
    constexpr int kAtATime = 4;
    constexpr int kOfATraining = 100;
    int life = 0;
    while (life < rounds()) {
        const int first = life;
        life = std::min(rounds(), first + kOfATraining);
        const auto training = in_child([&] {
            start({.database = database()});
            record("main");
            for (int next = first; next < life; next += kAtATime) {
                const int after = std::min(life, next + kAtATime);
                std::vector<pid_t> workers;
                for (int one = next; one < after; ++one) {
                    workers.push_back(fork_child([&, one] {
                        set_process(
                            {.role = ProcessInfo::Role::worker, .worker_id = one});
                        work(log_of(one), one);
                    }));
                }
                wait_for_log(next);
                for (const pid_t worker : workers) {
                    usleep(static_cast<useconds_t>(below(25'000)));
                    kill(worker, SIGKILL);
                    EXPECT_EQ(exit_code_of(worker), kKilled);
                    record("main");
                }
            }
            stop();
        });
        EXPECT_EQ(training.exit_code, 0);
        EXPECT_EQ(training.errors, "");
        recover(database());  // it takes its time for that, and no more at its end
        EXPECT_TRUE(rings().empty());
    }
    EXPECT_EQ(count_of("main"),
              rounds() + (rounds() + kOfATraining - 1) / kOfATraining);
    compare(rounds()).expect_none(rounds());
}

TEST_F(Stress, AWholeProcessGroupKilledAtAnyInstant) {
    constexpr int kWorkers = 2;
    for (int round = 0; round < rounds(); ++round) {
        const int life = round * (1 + kWorkers);
        std::array<int, 2> alive{};
        ASSERT_EQ(pipe(alive.data()), 0);
        const pid_t leader = fork_child([&] {
            close(alive[0]);
            setpgid(0, 0);
            start({.database = database()});
            fix_identity();
            for (int worker = 1; worker <= kWorkers; ++worker) {
                fork_child([&, worker] {
                    set_process(
                        {.role = ProcessInfo::Role::worker, .worker_id = worker});
                    work(log_of(life + worker), life + worker);
                });
            }
            work(log_of(life), life);
        });
        setpgid(leader, leader);
        close(alive[1]);
        if (round % 4 != 0) {
            wait_for_log(life);
        }
        wait_a_while();
        kill(-leader, SIGKILL);
        EXPECT_EQ(exit_code_of(leader), kKilled);
        char token = 0;
        EXPECT_EQ(read(alive[0], &token, 1), 0);  // when the last one is gone
        close(alive[0]);
        if (round % 2 == 0) {
            recover(database());
        }
    }
    recover(database());
    EXPECT_TRUE(rings().empty());
    compare(rounds() * (1 + kWorkers)).expect_none(rounds());
}

TEST_F(Stress, ATrainingKilledInACommit) {
    for (int life = 0; life < rounds(); ++life) {
        const std::string faults =
            "write@run.db:" + std::to_string(1 + below(150)) + ":kill";
        const auto victim = in_child([&] {
            mt_set_faults(faults.c_str());
            start({.database = database()});
            work(log_of(life), life, true);
        });
        EXPECT_EQ(victim.exit_code, kKilled);
        if (life % 2 == 0) {
            recover(database());
        }
    }
    recover(database());
    EXPECT_TRUE(rings().empty());
    compare(rounds()).expect_none(rounds());
}

TEST_F(Stress, ARecoveryKilledAtAnyWriteOfIts) {
    for (int life = 0; life < rounds(); ++life) {
        const pid_t victim = fork_child([&] {
            start({.database = database()});
            work(log_of(life), life);
        });
        wait_for_log(life);
        wait_a_while();
        kill(victim, SIGKILL);
        exit_code_of(victim);
        for (int attempt = 0; attempt < 3; ++attempt) {
            const std::string at = std::to_string(1 + below(40));
            fork_child([&] {
                mt_set_faults(
                    ("write@run.db:" + at + ":kill write@.ring:" + at + ":kill")
                        .c_str());
                recover(database());
            });
            int status = 0;
            wait(&status);
        }
        recover(database());
    }
    EXPECT_TRUE(rings().empty());
    compare(rounds()).expect_none(rounds());
}

// --- forks --------------------------------------------------------------------------

TEST_F(Stress, ForksWhileTheDatabaseIsWritten) {
    std::atomic<int> hung = 0;
    std::atomic<int> failed = 0;
    const auto note = [&](int exit_code) {
        hung += exit_code == 128 + SIGALRM ? 1 : 0;
        failed += exit_code != 0 && exit_code != 128 + SIGALRM ? 1 : 0;
    };
    const auto child = [&](const char* name) {
        return fork_child([this, name] {
            alarm(kHangs_s);
            for (const int descriptor : detail::platform::open_descriptors()) {
                std::error_code error;
                const auto target = fs::read_symlink(
                    "/proc/self/fd/" + std::to_string(descriptor), error);
                EXPECT_FALSE(target.native().starts_with(database().native()))
                    << target;
            }
            record(name);
            stop();
        });
    };
    const auto training = train([&] {
        alarm(0);
        fix_identity();
        std::atomic<bool> done = false;
        std::thread busy([&done] {
            while (!done) {
                record("busy", 50);
                flush();
                usleep(500);  // a long run is not to fill the memory
            }
        });
        std::thread other([&] {
            for (int round = 0; round < rounds(); ++round) {
                note(exit_code_of(child("of another thread")));
            }
        });
        for (int round = 0; round < rounds(); ++round) {
            note(exit_code_of(child("of main")));
            note(exit_code_of(fork_child([&] {
                alarm(kHangs_s);
                record("parent");
                EXPECT_EQ(exit_code_of(child("of a fork")), 0);
                stop();
            })));
            note(exit_code_of(raw_clone([] {
                record("of a clone");
                flush();
            })));
            record("main");
        }
        other.join();
        done = true;
        busy.join();
        EXPECT_EQ(hung, 0);
        EXPECT_EQ(failed, 0);
    });
    EXPECT_EQ(training.exit_code, 0);
    EXPECT_EQ(training.errors, "");

    std::map<std::string, std::int64_t> rows;
    Figures figures;
    for (const fs::path& file : databases()) {
        figures.unsound += query(file, "PRAGMA integrity_check") != Rows{"ok"};
        const SQLite::Database opened(file.string(), SQLite::OPEN_READONLY, 2000);
        SQLite::Statement stages(
            opened, "SELECT stage, calls FROM v_stage_summary WHERE stage <> 'busy'");
        while (stages.executeStep()) {
            const std::string name = stages.getColumn(0).getString();
            rows[name] += stages.getColumn(1).getInt64();
            EXPECT_EQ(name == "main", file == database()) << name << " in " << file;
        }
    }
    for (const char* name :
         {"main", "of main", "of another thread", "parent", "of a fork"}) {
        figures.records += rounds();
        figures.lost += std::max<std::int64_t>(0, rounds() - rows[name]);
        figures.twice += std::max<std::int64_t>(0, rows[name] - rounds());
    }
    EXPECT_EQ(rows["of a clone"], 0);
    figures.hung = training.exit_code == 0 ? 0 : 1;
    figures.expect_none(4 * rounds());
}

}  // namespace
}  // namespace metatrain_timing::test
