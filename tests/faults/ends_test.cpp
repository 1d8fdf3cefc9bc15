
#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

#include "recorder/core/src/platform.hpp"
#include "tests/faults/scene.hpp"

// Every way in which a process can end, stop or multiply: all that ended before is
// there, and the process ends as it would without a recorder.
namespace metatrain_timing::test {
namespace {

using EndsTest = Scene;

struct Ending {
    const char* name;
    std::function<void()> end;
    int exit_code;
};

void end_by(int signal_number) {
    raise(signal_number);
}

class AnyEnd : public EndsTest, public testing::WithParamInterface<Ending> {};

TEST_P(AnyEnd, LosesNothingAndIsTheProgramsOwn) {
    const auto result = in_child([this] {
        std::set_terminate([] { std::abort(); });
        start({.database = database()});
        record("flushed", 100);
        flush();
        record("not flushed", 100);
        begin(stage("collate"));
        GetParam().end();
    });
    EXPECT_EQ(result.exit_code, GetParam().exit_code);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(recover(database()).process_count, 1);
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"flushed|100", "not flushed|100"}));
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"killed"});
    EXPECT_EQ(query(database(),
                    "SELECT stage.name FROM open_interval "
                    "JOIN stage ON stage.id = stage_id"),
              Rows{"collate"});
    EXPECT_TRUE(rings().empty());
    expect_sound();
}

TEST_F(EndsTest, ARunWithoutAFileYetIsFoundByARelativePath) {
    in_child([this] {
        start({.database = database()});
        record("not flushed", 10);
        _exit(7);
    });
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(database().parent_path());
    const Recovery recovery = recover(database().filename());
    std::filesystem::current_path(before);
    EXPECT_EQ(recovery.process_count, 1);
    EXPECT_EQ(query(database(), "SELECT calls FROM v_stage_summary"), Rows{"10"});
    EXPECT_TRUE(rings().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Ends, AnyEnd,
    testing::Values(
        Ending{"_exit", [] { _exit(7); }, 7},
        Ending{"SIGTERM", [] { end_by(SIGTERM); }, 128 + SIGTERM},
        Ending{"SIGINT", [] { end_by(SIGINT); }, 128 + SIGINT},
        Ending{"SIGABRT", [] { end_by(SIGABRT); }, 128 + SIGABRT},
        Ending{"SIGSEGV", [] { end_by(SIGSEGV); }, 128 + SIGSEGV},
        Ending{"SIGBUS", [] { end_by(SIGBUS); }, 128 + SIGBUS},
        Ending{"SIGKILL", [] { end_by(SIGKILL); }, kKilled},
        Ending{"exception",
               [] { std::thread([] { throw std::runtime_error("of user"); }).join(); },
               128 + SIGABRT}),
    [](const auto& of) {
        const std::string name = of.param.name;
        return name.substr(name.find_first_not_of('_'));
    });

TEST_F(EndsTest, SignalsAreLeftToTheProgram) {
    const auto result = train([] {
        const auto handlers = [] {
            std::map<int, void*> all;
            for (int number = 1; number < NSIG; ++number) {
                struct sigaction action{};
                if (sigaction(number, nullptr, &action) == 0) {
                    all[number] = reinterpret_cast<void*>(action.sa_handler);
                }
            }
            return all;
        };
        const auto mask = [] {
            sigset_t blocked;
            pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
            std::vector<int> numbers;
            for (int number = 1; number < NSIG; ++number) {
                if (sigismember(&blocked, number) == 1) {
                    numbers.push_back(number);
                }
            }
            return numbers;
        };
        const auto handlers_before = handlers();
        const auto mask_before = mask();
        record("work");
        flush();
        EXPECT_EQ(handlers(), handlers_before);
        EXPECT_EQ(mask(), mask_before);
        stop();
        EXPECT_EQ(handlers(), handlers_before);
        EXPECT_EQ(mask(), mask_before);
    });
    EXPECT_EQ(result.exit_code, 0);
}

// Slurm and shells end a job so: nobody is left to adopt anybody.
TEST_F(EndsTest, AKilledProcessGroupIsSavedByTheNextTraining) {
    std::array<int, 2> ready{};
    ASSERT_EQ(pipe(ready.data()), 0);
    const pid_t leader = fork_child([&] {
        setpgid(0, 0);
        start({.database = database()});
        record("main", 10);
        for (int worker = 0; worker < 2; ++worker) {
            fork_child([&, worker] {
                set_process({.role = ProcessInfo::Role::worker, .worker_id = worker});
                record("worker", 10);
                begin(stage("collate"));
                EXPECT_EQ(write(ready[1], "x", 1), 1);
                pause();
            });
        }
        record("main", 10);
        EXPECT_EQ(write(ready[1], "x", 1), 1);
        pause();
    });
    std::array<char, 1> token{};
    for (int process = 0; process < 3; ++process) {
        ASSERT_EQ(read(ready[0], token.data(), 1), 1);
    }
    kill(-leader, SIGKILL);
    EXPECT_EQ(exit_code_of(leader), kKilled);
    // The workers are not this process's children: who holds the pipe lives.
    close(ready[1]);
    EXPECT_EQ(read(ready[0], token.data(), 1), 0);
    EXPECT_EQ(train([] { record("next"); }).exit_code, 0);
    EXPECT_TRUE(rings().empty());
    EXPECT_EQ(count_of("main"), 20);
    // They had written nothing: one after the other got the first free file.
    EXPECT_EQ(query(detour(),
                    "SELECT worker, stage, count(*) FROM v_interval "
                    "GROUP BY worker, stage ORDER BY worker"),
              (Rows{"0|worker|10", "1|worker|10"}));
    EXPECT_EQ(query(detour(), "SELECT ending FROM process"),
              (Rows{"killed", "killed"}));
    EXPECT_EQ(query(detour(),
                    "SELECT DISTINCT stage.name FROM open_interval "
                    "JOIN stage ON stage.id = stage_id"),
              Rows{"collate"});
}

TEST_F(EndsTest, AStoppedProcessIsNobodysToAdopt) {
    std::array<int, 2> ready{};
    ASSERT_EQ(pipe(ready.data()), 0);
    const pid_t sleeper = fork_child([&] {
        start({.database = database()});
        record("before", 10);
        flush();
        EXPECT_EQ(write(ready[1], "x", 1), 1);
        raise(SIGSTOP);
        record("after", 10);
        stop();
    });
    std::array<char, 1> token{};
    ASSERT_EQ(read(ready[0], token.data(), 1), 1);
    int status = 0;
    ASSERT_EQ(waitpid(sleeper, &status, WUNTRACED), sleeper);
    ASSERT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(rings().size(), 1U);
    EXPECT_EQ(recover(database()).process_count, 0);
    EXPECT_EQ(train([] { record("another run"); }).exit_code, 0);
    EXPECT_EQ(rings().size(), 1U);
    kill(sleeper, SIGCONT);
    EXPECT_EQ(exit_code_of(sleeper), 0);
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|10", "before|10"}));
    EXPECT_EQ(query(detour(), "SELECT stage FROM v_interval"), Rows{"another run"});
}

// --- clones -------------------------------------------------------------------------

TEST_F(EndsTest, AChildOfARawCloneRecordsNothingAndHarmsNothing) {
    const auto result = train([] {
        record("before", 10);
        const OpenInterval open = begin(stage("step"));
        const pid_t child = raw_clone([open] {
            EXPECT_FALSE(recording());
            record("in the child", 10);
            end(open);
            set_context({.batch = 1});
            count(counter("atoms"), 1);
            define_iterator(define_loader({.name = "train"}), 0);
            set_fact("key", "of the child");
            set_thread_name("of the child");
            turn_ended();
            std::thread([] { record("thread of the child"); }).join();
            flush();
            stop();
            EXPECT_FALSE(start({.database = "/nowhere/run.db"}));
        });
        EXPECT_EQ(exit_code_of(child), 0);
        end(open);
        record("after", 10);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|10", "before|10", "step|1"}));
    EXPECT_EQ(query(database(), "SELECT count(*) FROM environment WHERE key = 'key'"),
              Rows{"0"});
    EXPECT_FALSE(fs::exists(others()));
    expect_sound();
}

TEST_F(EndsTest, AChildOfARawCloneMayExitAndForkAndExec) {
    const auto result = train([] {
        record("before", 10);
        EXPECT_EQ(exit_code_of(raw_clone([] { std::exit(3); })), 3);
        EXPECT_EQ(exit_code_of(raw_clone([] {
                      EXPECT_EQ(exit_code_of(fork_child([] {
                                    record("grandchild");
                                    stop();
                                })),
                                0);
                  })),
                  0);
        EXPECT_EQ(exit_code_of(raw_clone([] { execl("/bin/true", "true", nullptr); })),
                  0);
        record("after", 10);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|10", "before|10"}));
    expect_sound();
}

// posix_spawn() and system() go by vfork(): the child shares all memory until exec.
TEST_F(EndsTest, AProgramThatIsSpawnedDisturbsNothing) {
    const auto result = train([] {
        const OpenInterval open = begin(stage("step"));
        for (int child = 0; child < 20; ++child) {
            record("before");
            EXPECT_EQ(std::system("exit 3"), 3 << 8);  // NOLINT(cert-env33-c)
        }
        end(open);
        EXPECT_TRUE(recording());
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"before|20", "step|1"}));
}

}  // namespace
}  // namespace metatrain_timing::test
