#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tests/faults/scene.hpp"

// What a training does where its files cannot be written, locked, mapped or kept: it
// goes on, says at most one line, and what can be saved is saved.
namespace metatrain_timing::test {
namespace {

// Every write to a file of the run fails, as on a full disk.
constexpr const char* kDiskFull = "write@run.db:1+:ENOSPC";

class FaultsTest : public Scene {
  protected:
    /// The database of a run that ended well, with one interval "before".
    void make_run() const {
        EXPECT_EQ(train([] { record("before"); }).exit_code, 0);
    }

    /// Records under faults that keep the file from being made until they are over.
    void expect_waited_for(const char* faults) const {
        const auto result = train([faults] {
            mt_set_faults(faults);
            record("during", 100);
            flush();
            flush();
            EXPECT_TRUE(recording());
            EXPECT_TRUE(health().degraded);
            EXPECT_EQ(health().recorded_count, 0);
            mt_set_faults("");
            flush();
            EXPECT_EQ(health().recorded_count, 100);
        });
        EXPECT_EQ(result.exit_code, 0);
        EXPECT_EQ(line_count(result.errors), 1) << result.errors;
        EXPECT_EQ(count_of("during"), 100);
        expect_sound();
    }
};

// --- no space -----------------------------------------------------------------------

TEST_F(FaultsTest, ADiskFullFromTheBeginningIsWaitedFor) {
    expect_waited_for(kDiskFull);
}

TEST_F(FaultsTest, ADiskFullOnTheWayKeepsWhatFitsIntoTheRings) {
    const auto result = train([] {
        define_iterator(define_loader({.name = "train"}), 0);
        record("before", 10);
        flush();
        mt_set_faults(kDiskFull);
        set_fact("key", "value");
        record("during", 9000);
        flush();
        mt_set_faults("");
        record("not at all", 0);
        flush();
        record("after", 5);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|5", "before|10", "during|9000"}));
    EXPECT_EQ(count_of("during"), 8192);
    EXPECT_EQ(query(database(), "SELECT dropped_count, unsummed_count FROM process"),
              Rows{std::to_string(9000 - 8192) + "|0"});
    EXPECT_EQ(query(database(), "SELECT value FROM environment WHERE key = 'key'"),
              Rows{"value"});
    EXPECT_EQ(query(database(),
                    "SELECT count(*) FROM health "
                    "WHERE code IN ('disk_full', 'io_error')"),
              Rows{"1"});
    expect_sound();
}

TEST_F(FaultsTest, ADiskThatStaysFullDoesNotStopTheTraining) {
    const auto result = train([] {
        record("before");
        flush();
        mt_set_faults(kDiskFull);
        record("during", 20'000);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval"), Rows{"before"});
    // What was in the rings is not lost: it waits for room.
    EXPECT_EQ(recover(database()).record_count, 8192);
    EXPECT_EQ(count_of("during"), 8192);
    EXPECT_EQ(number(database(), "SELECT sum(calls) FROM interval_total"),
              20'000 - 8192);
    EXPECT_TRUE(rings().empty());
}

class WriteError : public FaultsTest,
                   public testing::WithParamInterface<const char*> {};

// A quota, a filesystem remounted for reading, a broken disk, a server that forgot us.
TEST_P(WriteError, IsSaidOnceAndMadeUpFor) {
    const auto result = train([] {
        record("before", 10);
        flush();
        mt_set_faults((std::string("write@run.db:1+:") + GetParam()).c_str());
        record("during", 100);
        flush();
        EXPECT_GT(mt_faults_met(), 0U);
        EXPECT_TRUE(health().degraded);
        EXPECT_EQ(health().recorded_count, 10);
        mt_set_faults("");
        record("after");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_NE(result.errors.find("cannot write " + database().string()),
              std::string::npos)
        << result.errors;
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|1", "before|10", "during|100"}));
    EXPECT_EQ(query(database(), "SELECT ending, dropped_count FROM process"),
              Rows{"clean|0"});
    expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Errors, WriteError,
                         testing::Values("EDQUOT", "EROFS", "EIO", "ESTALE", "EACCES"));

class CreationError : public FaultsTest,
                      public testing::WithParamInterface<const char*> {};

// No inode is left, or no descriptor: no file at all can be made, for a while.
TEST_P(CreationError, IsWaitedFor) {
    expect_waited_for((std::string("open@run.db:1+:") + GetParam()).c_str());
}

INSTANTIATE_TEST_SUITE_P(Errors, CreationError,
                         testing::Values("ENOSPC", "EDQUOT", "EMFILE", "EIO"));

TEST_F(FaultsTest, AFailedSyncIsSaidAtMostOnce) {
    const auto result = train([] {
        mt_set_faults("fsync:1+:EIO");
        record("main", 2000);
        flush();
        record("main", 3000);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_LE(line_count(result.errors), 1) << result.errors;
    recover(database());
    EXPECT_EQ(count_of("main"), 5000);
    expect_sound();
}

TEST_F(FaultsTest, ShortAndInterruptedWritesAreGoneOnWith) {
    const auto result = train([] {
        mt_set_faults(
            "write@run.db:2:short write@run.db:5:EINTR write@run.db:9:short "
            "fcntl@run.db:2:EINTR open@run.db:3:EINTR fsync:1:EINTR");
        record("main", 3000);
        flush();
        EXPECT_GE(mt_faults_met(), 3U);
        record("main", 3000);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_LE(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(count_of("main"), 6000);
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"clean"});
    expect_sound();
}

// --- locks --------------------------------------------------------------------------

class LockError : public FaultsTest, public testing::WithParamInterface<const char*> {};

TEST_P(LockError, AProcessWritesAFileOfItsOwn) {
    const auto result = train([] {
        mt_set_faults((std::string("fcntl:1+:") + GetParam()).c_str());
        record("main");
        flush();
        record("main");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_FALSE(fs::exists(database()));
    EXPECT_TRUE(detour().filename().string().starts_with("main-"));
    EXPECT_EQ(query(detour(), "SELECT count(*) FROM interval"), Rows{"2"});
    EXPECT_EQ(query(detour(), "SELECT ending FROM process"), Rows{"clean"});
}

INSTANTIATE_TEST_SUITE_P(Errors, LockError,
                         testing::Values("ENOLCK", "ENOSYS", "EIO", "EINVAL"));

TEST_F(FaultsTest, LocksThatStopWorkingOnTheWayLoseNothing) {
    const auto result = train([] {
        record("before");
        flush();
        mt_set_faults("fcntl@run.db:1+:EIO");
        record("during", 100);
        turn_ended();
        while (mt_faults_met() < 5) {
            usleep(1000);
        }
        mt_set_faults("");
        record("after");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_LE(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"102"});
    expect_sound();
}

// --- a server that hangs ------------------------------------------------------------

class Hang : public FaultsTest, public testing::WithParamInterface<const char*> {};

// Ten minutes, of which neither the records nor the end wait for more than seconds; a
// child forked meanwhile does without.
TEST_P(Hang, NeitherTheTrainingNorItsEndWaitForIt) {
    const auto result = train([] {
        record("before");
        flush();
        mt_set_faults((std::string(GetParam()) + ":1+:sleep=600").c_str());
        record("during", 20'000);
        while (mt_faults_met() == 0) {
            record("during");
            usleep(1000);
        }
        for (int child = 0; child < 20; ++child) {
            EXPECT_EQ(exit_code_of(fork_child([] {
                          alarm(kHangs_s);
                          record("child");
                          stop();
                      })),
                      0);
        }
        EXPECT_GT(health().dropped_count, 0);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_LE(line_count(result.errors), 1) << result.errors;
    recover(database());
    EXPECT_EQ(count_of("before"), 1);
    EXPECT_EQ(count_of("during"), 8192);
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"clean"});
    EXPECT_EQ(query(database(), "SELECT ended_ns > started_ns FROM process"),
              Rows{"1"});
    expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Calls, Hang,
                         testing::Values("write@run.db-wal", "fcntl@run.db-shm"));

TEST_F(FaultsTest, AnEndIsNotHeldUpByAServerThatHangsInIt) {
    const auto result = train([] {
        record("before");
        flush();
        EXPECT_EQ(exit_code_of(fork_child([] {
                      set_process({.role = ProcessInfo::Role::worker, .worker_id = 0});
                      record("worker");
                      kill(getpid(), SIGKILL);
                  })),
                  kKilled);
        record("after");
        mt_set_faults("write@run.db:1+:sleep=600 fsync:1+:sleep=600");
        save_children();  // as Python does before it ends
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(recover(database()).process_count, 2);
    EXPECT_EQ(count_in(others() / "rank0-w00.db", "worker"), 1);
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"2"});
    expect_sound();
}

// --- ring files ---------------------------------------------------------------------

class NoRingFile : public FaultsTest,
                   public testing::WithParamInterface<const char*> {};

TEST_P(NoRingFile, RecordingGoesOnInMemory) {
    const auto result = train([] {
        mt_set_faults(GetParam());
        record("main", 100);
        std::thread([] { record("thread", 100); }).join();
        EXPECT_GT(mt_faults_met(), 0U);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(count_of("main"), 100);
    EXPECT_EQ(count_of("thread"), 100);
    EXPECT_TRUE(rings().empty());
}

TEST_P(NoRingFile, AKillLosesWhatTheLastPassDidNotWriteAndNoMore) {
    const auto result = train_and_die([] {
        mt_set_faults(GetParam());
        record("written", 100);
        flush();
        record("not written", 100);
    });
    EXPECT_EQ(result.exit_code, kKilled);
    recover(database());
    EXPECT_EQ(count_of("written"), 100);
    EXPECT_LE(count_of("not written"), 100);
    EXPECT_TRUE(rings().empty());
    expect_sound();
}

INSTANTIATE_TEST_SUITE_P(
    Faults, NoRingFile,
    testing::Values("mmap@.ring:1+:ENODEV", "mmap@.ring:1+:EINVAL",
                    "mmap@.ring:3+:ENOMEM", "fallocate@.ring:1+:ENOSPC",
                    "fallocate@.ring:1+:EOPNOTSUPP", "fallocate@.ring:2+:ENOSPC",
                    "open@.ring:1+:EACCES", "fcntl@.ring:1+:ENOLCK"));

// The first folder refuses, the next one serves.
TEST_F(FaultsTest, WhereSharedMemoryRefusesTheRingLiesBesideTheDatabase) {
    const auto result = train_and_die([] {
        mt_set_faults("fallocate@/dev/shm:1+:ENOSPC");
        record("work", 10);
    });
    EXPECT_EQ(result.exit_code, kKilled);
    ASSERT_EQ(rings().size(), 1U);
    EXPECT_EQ(rings().front().parent_path(), others());
    EXPECT_EQ(recover(database()).record_count, 10);
    EXPECT_EQ(count_of("work"), 10);
    EXPECT_FALSE(fs::exists(others()));
}

TEST_F(FaultsTest, WithoutMemoryForARingRecordsAreCounted) {
    const auto result = train([] {
        record("main");
        flush();
        mt_set_faults("mmap:1+:ENOMEM");
        std::thread([] { record("thread", 3); }).join();
        mt_set_faults("");
        record("main");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval"),
              (Rows{"main", "main"}));
    EXPECT_EQ(query(database(), "SELECT dropped_count, unsummed_count FROM process"),
              Rows{"3|3"});
}

TEST_F(FaultsTest, ARingFileThatACleanerRemovedGoesOnServing) {
    const auto result = train([this] {
        record("before", 100);
        ASSERT_EQ(rings().size(), 1U);
        fs::remove(rings().front());
        record("after", 100);
        std::thread([] { record("thread", 100); }).join();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|100", "before|100", "thread|100"}));
    EXPECT_TRUE(rings().empty());
}

// The host is gone, or its shared memory: what was drained is there.
TEST_F(FaultsTest, WithoutItsRingFileAKilledProcessKeepsWhatWasDrained) {
    const auto result = train_and_die([this] {
        record("drained", 100);
        flush();
        record("not drained", 100);
        fs::remove(rings().front());
    });
    EXPECT_EQ(result.exit_code, kKilled);
    EXPECT_EQ(recover(database()).process_count, 0);
    EXPECT_EQ(count_of("drained"), 100);
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"unknown"});
    expect_sound();
}

// --- databases ----------------------------------------------------------------------

TEST_F(FaultsTest, AFileThatSomebodyRemovesIsMadeAgain) {
    const auto result = train([this] {
        const auto pass = define_iterator(define_loader({.name = "train"}), 0);
        set_context({.iterator = pass});
        record("before");
        flush();
        for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
            fs::remove(database().string() + suffix);
        }
        record("after");
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "metatrain-timing: " + database().string() +
                                 " was removed or taken over while it was written\n");
    EXPECT_EQ(query(database(), "SELECT stage, loader FROM v_interval"),
              Rows{"after|train"});
    EXPECT_EQ(query(database(), "SELECT code FROM health"), Rows{"file_lost"});
    EXPECT_EQ(query(database(), "SELECT ending FROM process"), Rows{"clean"});
    EXPECT_FALSE(fs::exists(database().string() + ".lock"));
}

TEST_F(FaultsTest, ADamagedFileIsLeftForANewOne) {
    make_run();
    const auto page = static_cast<off_t>(number(
        database(), "SELECT rootpage FROM sqlite_schema WHERE name = 'interval'"));
    const int descriptor = open(database().c_str(), O_WRONLY);
    const std::string rubbish(4096, '\x5A');
    ASSERT_EQ(pwrite(descriptor, rubbish.data(), rubbish.size(), (page - 1) * 4096),
              4096);
    close(descriptor);

    const auto result = train([] { record("after", 3000); });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors,
              "metatrain-timing: " + database().string() + " is damaged\n");
    EXPECT_EQ(query(detour(), "SELECT count(*) FROM interval"), Rows{"3000"});
}

TEST_F(FaultsTest, AFileThatWasCutIsLeftForANewOne) {
    make_run();
    fs::resize_file(database(), 6000);
    const auto result = train([] { record("after"); });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.errors.find("run.db is damaged; recording to "), std::string::npos)
        << result.errors;
    EXPECT_EQ(query(detour(), "SELECT stage FROM v_interval"), Rows{"after"});
    EXPECT_EQ(fs::file_size(database()), 6000U);
}

// VACUUM writes the file anew under the recorder's feet.
TEST_F(FaultsTest, AVacuumFromOutsideDoesNoHarm) {
    const auto result = train([this] {
        record("before", 100);
        flush();
        const std::string vacuum = "sqlite3 '" + database().string() + "' VACUUM";
        EXPECT_EQ(std::system(vacuum.c_str()), 0);  // NOLINT(cert-env33-c)
        record("after", 100);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"200"});
    expect_sound();
}

}  // namespace
}  // namespace metatrain_timing::test
