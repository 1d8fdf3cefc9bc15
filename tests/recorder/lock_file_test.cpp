#include "recorder/core/src/lock_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/child_process.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::detail {
namespace {

using Outcome = LockFile::Outcome;

Outcome outcome_in_child(const std::filesystem::path& path) {
    const auto result = test::in_child(
        [&] { _exit(static_cast<int>(LockFile::acquire(path, "").first)); });
    return static_cast<Outcome>(result.exit_code);
}

TEST(LockFile, KeepsOtherProcessesOut) {
    const test::TempFolder folder;
    const auto path = folder / "run.db.lock";
    auto [outcome, lock] = LockFile::acquire(path, "pid 7\n");
    EXPECT_EQ(outcome, Outcome::locked);
    EXPECT_EQ(outcome_in_child(path), Outcome::taken);
    std::string text;
    std::ifstream file(path);
    std::getline(file, text);
    EXPECT_EQ(text, "pid 7");
}

TEST(LockFile, IsGoneWhenRemoved) {
    const test::TempFolder folder;
    const auto path = folder / "run.db.lock";
    auto [outcome, lock] = LockFile::acquire(path, "");
    lock->remove();
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(outcome_in_child(path), Outcome::locked);
}

TEST(LockFile, AFileThatADeadProcessLeftIsTakenOver) {
    const test::TempFolder folder;
    const auto path = folder / "run.db.lock";
    EXPECT_EQ(outcome_in_child(path), Outcome::locked);
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_EQ(LockFile::acquire(path, "").first, Outcome::locked);
}

TEST(LockFile, InAMissingFolderCannotBeWritten) {
    const test::TempFolder folder;
    const auto [outcome, lock] = LockFile::acquire(folder / "missing/run.db.lock", "");
    EXPECT_EQ(outcome, Outcome::unwritable);
    EXPECT_FALSE(lock);
}

TEST(LockFile, FollowsNoLink) {
    const test::TempFolder folder;
    std::ofstream(folder / "precious") << "text";
    std::filesystem::create_symlink(folder / "precious", folder / "run.db.lock");
    EXPECT_EQ(LockFile::acquire(folder / "run.db.lock", "").first, Outcome::unwritable);
    std::string text;
    std::ifstream file(folder / "precious");
    std::getline(file, text);
    EXPECT_EQ(text, "text");
}

TEST(LockFile, StaysClearOfTheStandardStreams) {
    const test::TempFolder folder;
    const auto result = test::in_child([&] {
        close(STDOUT_FILENO);
        const auto [outcome, lock] = LockFile::acquire(folder / "run.db.lock", "");
        const bool is_free = fcntl(STDOUT_FILENO, F_GETFD) == -1;
        _exit(outcome == Outcome::locked && is_free ? 0 : 1);
    });
    EXPECT_EQ(result.exit_code, 0);
}

}  // namespace
}  // namespace metatrain_timing::detail
