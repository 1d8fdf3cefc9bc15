#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <thread>

#include "tests/faults/scene.hpp"
#include "tests/support/in_memory.hpp"

// Limits of a process, and memory, threads and descriptors that run out.
namespace metatrain_timing::test {
namespace {

using LimitsTest = Scene;

/// Lowers a limit of this process, which may raise it again.
class Limited {
  public:
    Limited(int resource, rlim_t limit) : resource_(resource) {
        getrlimit(kind(), &before_);
        const rlimit low{limit, before_.rlim_max};
        setrlimit(kind(), &low);
    }
    ~Limited() { setrlimit(kind(), &before_); }
    Limited(const Limited&) = delete;
    Limited& operator=(const Limited&) = delete;

  private:
    __rlimit_resource kind() const { return static_cast<__rlimit_resource>(resource_); }

    int resource_;
    rlimit before_{};
};

// --- file size ----------------------------------------------------------------------

class FileSize : public LimitsTest, public testing::WithParamInterface<bool> {};

TEST_P(FileSize, ALimitFromTheBeginningOnKillsNothing) {
    const auto result = train([] {
        if (GetParam()) {
            signal(SIGXFSZ, SIG_IGN);
        }
        const Limited limit(RLIMIT_FSIZE, 4096);
        record("main", 10);
        std::thread([] { record("thread", 10); }).join();
        flush();
        EXPECT_TRUE(health().degraded);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(count_of("main"), 10);
    EXPECT_EQ(count_of("thread"), 10);
    expect_sound();
}

TEST_P(FileSize, ALimitReachedOnTheWayKillsNothing) {
    const auto result = train([this] {
        if (GetParam()) {
            signal(SIGXFSZ, SIG_IGN);
        }
        record("before", 1000);
        flush();
        {
            const Limited limit(RLIMIT_FSIZE,
                                fs::file_size(database().string() + "-wal"));
            record("during", 2000);
            flush();
            EXPECT_TRUE(health().degraded);
        }
        record("after");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|1", "before|1000", "during|2000"}));
    EXPECT_EQ(query(database(), "SELECT dropped_count, ending FROM process"),
              Rows{"0|clean"});
    expect_sound();
}

INSTANTIATE_TEST_SUITE_P(SignalIgnored, FileSize, testing::Bool());

// --- memory -------------------------------------------------------------------------

/// All that a program may ask of the recorder.
void use_everything() {
    const auto loader = define_loader({.name = "train", .num_workers = 2});
    const auto pass = define_iterator(loader, 0);
    iterator_first_wait(pass);
    iterator_phase(pass, "train");
    set_context({.iterator = pass, .batch = 1, .step = 2});
    set_fact("key", "value");
    note_problem("code", "a problem");
    set_thread_name("a thread");
    record("work", 10);
    count(counter("atoms"), 12);
    static_cast<void>(totals());
    static_cast<void>(counter_totals());
    static_cast<void>(health());
    static_cast<void>(environment_for_children());
    iterator_ended(pass, true);
    turn_ended();
    flush();
}

enum class Allocations { one, all };

class NoMemory : private InMemory,
                 public LimitsTest,
                 public testing::WithParamInterface<Allocations> {};

// Each allocation in turn fails, alone or with all that follow it, until there is no
// further one to fail. The short form leaves more and more of them out.
TEST_P(NoMemory, AnywhereItEndsNothingButRecords) {
    const bool all = GetParam() == Allocations::all;
    constexpr int kMost = 4000;
    int at = 1;
    int met = 1;
    const bool is_long = std::getenv("MT_LONG_TESTS") != nullptr;
    for (; at < kMost && met != 0; at += is_long || at < 30 ? 1 : 1 + at / 4) {
        const fs::path file = folder_ / ("run" + std::to_string(at) + ".db");
        std::array<int, 2> ends{};
        ASSERT_EQ(pipe(ends.data()), 0);
        const auto result = in_child([&] {
            alarm(kHangs_s);
            start({.database = file});
            mt_set_faults(
                ("malloc:" + std::to_string(at) + (all ? "+" : "") + ":ENOMEM")
                    .c_str());
            use_everything();
            stop();
            const auto faults = static_cast<int>(mt_faults_met());
            mt_set_faults("");
            EXPECT_EQ(write(ends[1], &faults, sizeof faults),
                      static_cast<ssize_t>(sizeof faults));
        });
        close(ends[1]);
        EXPECT_EQ(result.exit_code, 0) << "allocation " << at;
        EXPECT_LE(line_count(result.errors), 1) << result.errors;
        if (read(ends[0], &met, sizeof met) != sizeof met) {
            met = -1;
        }
        close(ends[0]);
        recover(file);
        if (fs::exists(file) && fs::file_size(file) > 0) {
            EXPECT_EQ(query(file, "PRAGMA integrity_check"), Rows{"ok"});
        }
    }
    EXPECT_GT(at, 60) << "the recorder allocates more than that";
}

INSTANTIATE_TEST_SUITE_P(Failing, NoMemory,
                         testing::Values(Allocations::one, Allocations::all));

TEST_F(LimitsTest, WithoutAddressSpaceForAThreadsRingItsRecordsAreCounted) {
    const auto result = train([] {
        record("main");
        flush();
        std::thread other([] {
            std::uint64_t pages = 0;
            std::ifstream("/proc/self/statm") >> pages;
            const Limited limit(RLIMIT_AS, pages * 4096);
            record("thread", 3);
        });
        other.join();
        record("main");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(count_of("main"), 2);
    EXPECT_EQ(query(database(), "SELECT dropped_count FROM process"), Rows{"3"});
}

// --- descriptors --------------------------------------------------------------------

TEST_F(LimitsTest, WithoutDescriptorsRecordsWaitForOne) {
    const auto result = train([] {
        {
            const Limited limit(RLIMIT_NOFILE, 3);
            record("during", 100);
            flush();
            EXPECT_EQ(health().recorded_count, 0);
            EXPECT_TRUE(recording());
        }
        record("after");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"101"});
}

TEST_F(LimitsTest, WithoutStandardStreamsNobodyElsesFileIsWritten) {
    const auto result = train([this] {
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            close(stream);
        }
        record("before");
        flush();
        // What a library prints goes nowhere, above all not into the database.
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            EXPECT_EQ(write(stream, "text", 4), -1);
        }
        std::ofstream(folder_ / "of the program") << "text";
        record("after");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"2"});
    expect_sound();
}

// --- threads ------------------------------------------------------------------------

TEST_F(LimitsTest, WithoutAThreadTheEndWritesEverything) {
    const auto result = train([] {
        mt_set_faults("pthread_create:1+:EAGAIN");
        record("main", 5000);
        EXPECT_EQ(health().recorded_count, 0);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(count_of("main"), 5000);
    EXPECT_EQ(query(database(), "SELECT code FROM health"), Rows{"no_thread"});
}

TEST_F(LimitsTest, AThreadThatTheSystemGivesLaterTakesUpTheWork) {
    const auto result = train([] {
        mt_set_faults("pthread_create:1+:EAGAIN");
        record("before");
        mt_set_faults("");
        while (health().recorded_count == 0) {
            record("after");
            turn_ended();
            usleep(1000);
        }
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(count_of("before"), 1);
}

TEST_F(LimitsTest, AThousandThreadsAtATimeAreATrackEach) {
    constexpr int kThreads = 1000;
    const auto result = train([] {
        std::vector<std::thread> threads;
        threads.reserve(kThreads);
        std::atomic<int> recorded = 0;
        std::atomic<bool> done = false;
        for (int index = 0; index < kThreads; ++index) {
            threads.emplace_back([&] {
                record("thread");
                ++recorded;
                while (!done) {
                    usleep(10'000);
                }
            });
        }
        while (recorded < kThreads) {
            usleep(1000);
        }
        done = true;
        for (std::thread& thread : threads) {
            thread.join();
        }
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(count_of("thread"), kThreads);
    EXPECT_EQ(
        query(database(), "SELECT count(DISTINCT track_id), count(*) FROM interval"),
        Rows{"1000|1000"});
    EXPECT_EQ(query(database(), "SELECT dropped_count FROM process"), Rows{"0"});
}

TEST_F(LimitsTest, TenThousandNamesOfAnyBytesKeepTheirRecords) {
    constexpr int kNames = 10'000;
    const auto result = train_and_die([] {
        for (int index = 0; index < kNames; ++index) {
            record(
                ("\xFF name " + std::to_string(index) + std::string(300, 'x')).c_str());
            if (index % 4000 == 3999) {
                flush();
            }
        }
    });
    EXPECT_EQ(result.exit_code, kKilled);
    recover(database());
    EXPECT_EQ(
        query(database(), "SELECT count(*), count(DISTINCT stage_id) FROM interval"),
        Rows{"10000|10000"});
    EXPECT_EQ(
        query(database(), "SELECT count(*) FROM stage WHERE name LIKE '%unknown%'"),
        Rows{"0"});
}

TEST_F(LimitsTest, TenThousandOpenIntervalsAreCappedCountedAndClosed) {
    constexpr int kDepth = 10'000;
    const auto result = train([] {
        const StageId deep = stage("deep");
        std::vector<OpenInterval> open;
        for (int index = 0; index < kDepth; ++index) {
            open.push_back(begin(deep));
        }
        for (auto last = open.rbegin(); last != open.rend(); ++last) {
            end(*last);
        }
        record("after");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database(),
                    "SELECT count(*), max(depth) FROM v_interval "
                    "WHERE stage = 'deep'"),
              Rows{"256|255"});
    EXPECT_EQ(query(database(), "SELECT depth FROM v_interval WHERE stage = 'after'"),
              Rows{"0"});
    EXPECT_EQ(query(database(), "SELECT dropped_count FROM process"),
              Rows{std::to_string(kDepth - 256)});
}

}  // namespace
}  // namespace metatrain_timing::test
