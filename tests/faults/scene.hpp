#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>
#include <metatrain_timing/recorder/recovery.hpp>
#include <string>
#include <vector>

#include "recorder/core/src/ring_places.hpp"
#include "tests/faults/fault_kit.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

/// What the tests of faults have in common: a process that records, in a folder.
namespace metatrain_timing::test {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;

inline void record(const char* name, int times = 1) {
    const StageId id = stage(name);
    for (int index = 0; index < times; ++index) {
        const Interval interval(id);
    }
}

inline std::ptrdiff_t line_count(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

/// Ends the process if `body` has not returned after a minute: what hangs would
/// otherwise hang the test. Not a measurement; nothing here takes seconds.
inline constexpr unsigned kHangs_s = 60;

/// A child as a raw system call makes it: none of the handlers of a fork has run in it.
inline pid_t raw_clone(const std::function<void()>& body) {
    const auto pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (pid == 0) {
        alarm(kHangs_s);
        body();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    return pid;
}

class Scene : public testing::Test {
  protected:
    fs::path database() const { return folder_ / "run.db"; }
    fs::path others() const { return folder_ / "run.db.d"; }

    /// The first database in the folder beside run.db.
    fs::path detour() const {
        for (const auto& entry : fs::directory_iterator(others())) {
            if (entry.path().extension() == ".db") {
                return entry.path();
            }
        }
        return {};
    }

    std::vector<fs::path> rings() const { return detail::find_rings(database()); }

    /// Runs `body` in a process of its own that records until it has returned.
    ChildResult train(const std::function<void()>& body) const {
        return in_child([&] {
            alarm(kHangs_s);
            start({.database = database()});
            body();
            stop();
        });
    }

    /// The same, but the process is killed when `body` has returned.
    ChildResult train_and_die(const std::function<void()>& body) const {
        return in_child([&] {
            alarm(kHangs_s);
            start({.database = database()});
            body();
            kill(getpid(), SIGKILL);
        });
    }

    std::int64_t count_of(const std::string& stage) const {
        return count_in(database(), stage);
    }
    static std::int64_t count_in(const fs::path& file, const std::string& stage) {
        return number(file,
                      "SELECT count(*) FROM v_interval WHERE stage = '" + stage + "'");
    }

    void expect_sound() const {
        EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
    }

    TempFolder folder_;
};

inline constexpr int kKilled = 128 + SIGKILL;

/// Whether this process may mount: root, outside of most containers.
inline bool may_mount() {
    return exit_code_of(fork_child([] {
               _exit(unshare(CLONE_NEWNS) == 0 &&
                             mount("none", "/", nullptr, MS_REC | MS_PRIVATE,
                                   nullptr) == 0
                         ? 0
                         : 1);
           })) == 0;
}

/// Mounts memory of `size` at `where`, for this process and its children alone.
inline void mount_memory(const fs::path& where, const char* size,
                         unsigned long flags = 0) {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    const std::string options = std::string("mode=1777,size=") + size;
    ASSERT_EQ(mount("none", where.c_str(), "tmpfs", flags, options.c_str()), 0);
}

/// Makes a file of that many bytes, each of them there.
inline void fill(const fs::path& path, off_t size_bytes) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(posix_fallocate(descriptor, 0, size_bytes), 0);
    close(descriptor);
}

}  // namespace metatrain_timing::test
