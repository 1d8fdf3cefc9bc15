#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "tests/faults/scene.hpp"

// Filesystems that are full, small, read-only or not there, really mounted: as root,
// and in a mount namespace of its own.
namespace metatrain_timing::test {
namespace {

class MountsTest : public Scene {
  protected:
    void SetUp() override {
        if (!may_mount()) {
            GTEST_SKIP() << "mounting needs root";
        }
    }
};

// --- shared memory ------------------------------------------------------------------

struct SharedMemory {
    const char* name;
    void (*make)();
};

fs::path our_folder() {
    return "/dev/shm/metatrain-timing-" + std::to_string(geteuid());
}

constexpr const char* kDevShm = "/dev/shm";

class SharedMemoryTest : public MountsTest,
                         public testing::WithParamInterface<SharedMemory> {};

// The ring file lies beside the database then, and a kill loses nothing.
TEST_P(SharedMemoryTest, WhateverItIsLikeAKillLosesNothing) {
    const auto result = in_child([this] {
        GetParam().make();
        start({.database = database()});
        record("written", 10);
        flush();
        record("not written", 10);
        EXPECT_EQ(rings().size(), 1U);
        EXPECT_EQ(rings().front().parent_path(), others());
        kill(getpid(), SIGKILL);
    });
    EXPECT_EQ(result.exit_code, kKilled);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(recover(database()).record_count, 10);
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"not written|10", "written|10"}));
    EXPECT_FALSE(fs::exists(others()));
    expect_sound();
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SharedMemoryTest,
    testing::Values(SharedMemory{"Small", [] { mount_memory(kDevShm, "1m"); }},
                    SharedMemory{"AlmostFull",
                                 [] {
                                     mount_memory(kDevShm, "64m");
                                     fill("/dev/shm/batch", off_t{60} << 20U);
                                 }},
                    SharedMemory{"Full",
                                 [] {
                                     mount_memory(kDevShm, "64m");
                                     fill("/dev/shm/batch", off_t{64} << 20U);
                                 }},
                    SharedMemory{"Absent", [] { mount_memory("/dev", "1m"); }},
                    SharedMemory{"ReadOnly",
                                 [] { mount_memory(kDevShm, "64m", MS_RDONLY); }},
                    SharedMemory{"WithAFileOfOurName",
                                 [] {
                                     mount_memory(kDevShm, "64m");
                                     std::ofstream(our_folder()) << "text";
                                 }},
                    SharedMemory{"WithALinkOfOurName",
                                 [] {
                                     mount_memory(kDevShm, "64m");
                                     fs::create_directory("/dev/shm/elsewhere");
                                     fs::create_directory_symlink("/dev/shm/elsewhere",
                                                                  our_folder());
                                 }},
                    SharedMemory{"WithAFolderOfSomebodyElse",
                                 [] {
                                     mount_memory(kDevShm, "64m");
                                     fs::create_directory(our_folder());
                                     ASSERT_EQ(chown(our_folder().c_str(), 1234, 1234),
                                               0);
                                 }},
                    SharedMemory{"WithAFolderThatAllMayWrite",
                                 [] {
                                     mount_memory(kDevShm, "64m");
                                     fs::create_directory(our_folder());
                                     ASSERT_EQ(chmod(our_folder().c_str(), 0777), 0);
                                 }}),
    [](const auto& of) { return std::string(of.param.name); });

TEST_F(MountsTest, SharedMemoryThatMayNotBeExecutedServes) {
    const auto result = train([this] {
        mount_memory(kDevShm, "64m", MS_NOEXEC | MS_NOSUID | MS_NODEV);
        record("work", 10);
        EXPECT_EQ(rings().front().parent_path(), our_folder());
        stop();
        EXPECT_TRUE(fs::is_empty(kDevShm));  // nothing of ours stays behind
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(count_of("work"), 10);
}

// Batches of DataLoaders go through the same shared memory: it is theirs first.
TEST_F(MountsTest, SharedMemoryThatFillsUpOnTheWayEndsNothing) {
    const auto result = train([] {
        mount_memory(kDevShm, "64m");
        record("before", 10);
        fill("/dev/shm/batch", off_t{62} << 20U);
        record("during", 8000);
        std::thread([] { record("thread", 10); }).join();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"before|10", "during|8000", "thread|10"}));
}

// --- the database -------------------------------------------------------------------

TEST_F(MountsTest, ADiskThatIsFullAndHasRoomAgainGoesOnWithTheSameFile) {
    const fs::path disk = folder_ / "disk";
    fs::create_directory(disk);
    const auto result = in_child([&] {
        mount_memory(disk, "1m");
        const fs::path file = disk / "run.db";
        start({.database = file});
        record("before", 10);
        flush();
        const auto room = static_cast<off_t>(fs::space(disk).available);
        fill(disk / "checkpoint", room);
        record("during", 8000);
        flush();
        flush();
        EXPECT_TRUE(health().degraded);
        EXPECT_EQ(health().recorded_count, 10);
        EXPECT_EQ(health().dropped_count, 0);
        fs::remove(disk / "checkpoint");
        flush();
        EXPECT_EQ(health().recorded_count, 8010);
        record("after", 10);
        stop();
        EXPECT_EQ(
            query(file, "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
            (Rows{"after|10", "before|10", "during|8000"}));
        EXPECT_EQ(query(file, "SELECT count(*) FROM health"), Rows{"1"});
        EXPECT_EQ(query(file, "PRAGMA integrity_check"), Rows{"ok"});
    });
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
}

TEST_F(MountsTest, ADiskFullBeforeTheStartIsWaitedFor) {
    const fs::path disk = folder_ / "disk";
    fs::create_directory(disk);
    const auto result = in_child([&] {
        mount_memory(disk, "1m");
        fill(disk / "data", off_t{1} << 20U);
        const fs::path file = disk / "run.db";
        start({.database = file});
        record("during", 100);
        flush();
        EXPECT_TRUE(recording());
        fs::remove(disk / "data");
        flush();
        stop();
        EXPECT_EQ(query(file, "SELECT count(*) FROM interval"), Rows{"100"});
    });
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
}

TEST_F(MountsTest, AReadOnlyFilesystemIsOneLineAndRecordingIsOff) {
    const fs::path disk = folder_ / "disk";
    fs::create_directory(disk);
    const auto result = in_child([&] {
        mount_memory(disk, "1m", MS_RDONLY);
        start({.database = disk / "run.db"});
        record("work", 10);
        EXPECT_FALSE(recording());
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "metatrain-timing: cannot write " +
                                 (disk / "run.db").string() +
                                 ": Read-only file system; recording is off\n");
    EXPECT_TRUE(fs::is_empty(disk));
}

// It cannot be remounted while somebody writes to it; to that one it is the same.
TEST_F(MountsTest, AFilesystemThatBecomesReadOnlyEndsNothing) {
    const auto result = train([] {
        record("before", 10);
        flush();
        mt_set_faults("write@run.db:1+:EROFS open@run.db:1+:EROFS");
        record("during", 20'000);
        flush();
        EXPECT_EQ(health().recorded_count, 10);
    });
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(recover(database()).process_count, 1);
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"before|10", "during|20000"}));
    EXPECT_EQ(count_of("during"), 8192);
}

}  // namespace
}  // namespace metatrain_timing::test
