#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include "recorder/core/src/ring.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

// Faults of the system, made by standing in for its functions: the definitions here
// come before those of the C library, for this program and for the SQLite it uses.
namespace {

std::atomic<bool> locks_fail = false;
std::atomic<bool> writes_fail = false;
std::atomic<bool> threads_fail = false;
std::atomic<bool> rings_fail = false;

template <typename Function>
Function* original(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_a_write_to_a_file(int descriptor) {
    return writes_fail && descriptor > STDERR_FILENO;
}

int fcntl_or_fail(const char* name, int descriptor, int command, void* argument) {
    if (locks_fail && (command == F_SETLK || command == F_SETLKW)) {
        errno = ENOLCK;
        return -1;
    }
    return original<int(int, int, ...)>(name)(descriptor, command, argument);
}

}  // namespace

extern "C" {

int fcntl(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    return fcntl_or_fail("fcntl", descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    return fcntl_or_fail("fcntl64", descriptor, command, argument);
}

ssize_t write(int descriptor, const void* data, size_t size) {
    if (is_a_write_to_a_file(descriptor)) {
        errno = ENOSPC;
        return -1;
    }
    return original<ssize_t(int, const void*, size_t)>("write")(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
    if (is_a_write_to_a_file(descriptor)) {
        errno = ENOSPC;
        return -1;
    }
    return original<ssize_t(int, const void*, size_t, off_t)>("pwrite")(
        descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t offset) {
    if (is_a_write_to_a_file(descriptor)) {
        errno = ENOSPC;
        return -1;
    }
    return original<ssize_t(int, const void*, size_t, off64_t)>("pwrite64")(
        descriptor, data, size, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*start)(void*), void* argument) noexcept {
    if (threads_fail) {
        return EAGAIN;
    }
    return original<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
        "pthread_create")(thread, attributes, start, argument);
}

void* mmap(void* address, size_t size, int protection, int flags, int descriptor,
           off_t offset) noexcept {
    if (rings_fail && size >= sizeof(metatrain_timing::detail::ThreadArea)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return original<void*(void*, size_t, int, int, int, off_t)>("mmap")(
        address, size, protection, flags, descriptor, offset);
}

}  // extern "C"

namespace metatrain_timing {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;
using test::in_child;
using test::query;

void record(const char* name, int times = 1) {
    const StageId id = stage(name);
    for (int index = 0; index < times; ++index) {
        const Interval interval(id);
    }
}

std::ptrdiff_t line_count(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

class FaultsTest : public testing::Test {
  protected:
    fs::path database() const { return folder_ / "run.db"; }

    fs::path detour() const {
        for (const auto& entry : fs::directory_iterator(folder_ / "run.db.d")) {
            if (entry.path().extension() == ".db") {
                return entry.path();
            }
        }
        return {};
    }

    test::TempFolder folder_;
};

TEST_F(FaultsTest, WhereLocksDoNotWorkAProcessWritesAFileOfItsOwn) {
    const auto result = in_child([this] {
        locks_fail = true;
        start({.database = database()});
        record("main");
        flush();
        record("main");
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_FALSE(fs::exists(database()));
    EXPECT_TRUE(detour().filename().string().starts_with("main-"));
    EXPECT_EQ(query(detour(), "SELECT count(*) FROM interval"), Rows{"2"});
    EXPECT_EQ(query(detour(), "SELECT ending FROM process"), Rows{"clean"});
}

TEST_F(FaultsTest, ADiskFullFromTheBeginningIsWaitedFor) {
    const auto result = in_child([this] {
        start({.database = database()});
        writes_fail = true;
        record("during", 100);
        flush();
        flush();
        EXPECT_TRUE(recording());
        EXPECT_TRUE(health().degraded);
        EXPECT_EQ(health().recorded_count, 0);
        writes_fail = false;
        flush();
        EXPECT_EQ(health().recorded_count, 100);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"100"});
    EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
}

TEST_F(FaultsTest, ADiskFullOnTheWayKeepsWhatFitsIntoTheRings) {
    const auto result = in_child([this] {
        start({.database = database()});
        define_iterator(define_loader({.name = "train"}), 0);
        record("before", 10);
        flush();
        writes_fail = true;
        set_fact("key", "value");
        record("during", 9000);
        flush();
        writes_fail = false;
        record("lost on the way", 0);
        flush();
        record("after", 5);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(
        query(database(), "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"after|5", "before|10", "during|8192"}));
    EXPECT_EQ(query(database(), "SELECT dropped_count FROM process"),
              Rows{std::to_string(9000 - 8192)});
    EXPECT_EQ(query(database(), "SELECT value FROM environment WHERE key = 'key'"),
              Rows{"value"});
    EXPECT_EQ(query(database(),
                    "SELECT count(*) FROM health "
                    "WHERE code IN ('disk_full', 'io_error')"),
              Rows{"1"});
    EXPECT_EQ(query(database(), "PRAGMA integrity_check"), Rows{"ok"});
}

TEST_F(FaultsTest, ADiskThatStaysFullDoesNotStopTheTraining) {
    const auto result = in_child([this] {
        start({.database = database()});
        record("before");
        flush();
        writes_fail = true;
        record("during", 20'000);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval"), Rows{"before"});
}

TEST_F(FaultsTest, WithoutAThreadTheEndWritesEverything) {
    const auto result = in_child([this] {
        threads_fail = true;
        start({.database = database()});
        record("main", 5000);
        EXPECT_EQ(health().recorded_count, 0);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database(), "SELECT count(*) FROM interval"), Rows{"5000"});
    EXPECT_EQ(query(database(), "SELECT code FROM health"), Rows{"no_thread"});
}

TEST_F(FaultsTest, WithoutMemoryForARingRecordsAreCounted) {
    const auto result = in_child([this] {
        start({.database = database()});
        record("main");
        rings_fail = true;
        std::thread([] { record("thread", 3); }).join();
        rings_fail = false;
        record("main");
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database(), "SELECT stage FROM v_interval"),
              (Rows{"main", "main"}));
    EXPECT_EQ(query(database(), "SELECT dropped_count FROM process"), Rows{"3"});
}

TEST_F(FaultsTest, AFileThatSomebodyRemovesIsMadeAgain) {
    const auto result = in_child([this] {
        start({.database = database()});
        const auto pass = define_iterator(define_loader({.name = "train"}), 0);
        set_context({.iterator = pass});
        record("before");
        flush();
        for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
            fs::remove(database().string() + suffix);
        }
        record("after");
        stop();
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
    EXPECT_EQ(in_child([this] {
                  start({.database = database()});
                  record("before");
                  stop();
              }).exit_code,
              0);
    const auto page = static_cast<off_t>(test::number(
        database(), "SELECT rootpage FROM sqlite_schema WHERE name = 'interval'"));
    const int descriptor = open(database().c_str(), O_WRONLY);
    const std::string rubbish(4096, '\x5A');
    ASSERT_EQ(pwrite(descriptor, rubbish.data(), rubbish.size(), (page - 1) * 4096),
              4096);
    close(descriptor);

    const auto result = in_child([this] {
        start({.database = database()});
        record("after", 3000);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors,
              "metatrain-timing: " + database().string() + " is damaged\n");
    EXPECT_EQ(query(detour(), "SELECT count(*) FROM interval"), Rows{"3000"});
}

TEST_F(FaultsTest, AFileThatWasCutIsLeftForANewOne) {
    EXPECT_EQ(in_child([this] {
                  start({.database = database()});
                  record("before");
                  stop();
              }).exit_code,
              0);
    fs::resize_file(database(), 6000);
    const auto result = in_child([this] {
        start({.database = database()});
        record("after");
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.errors.find("run.db is damaged; recording to "), std::string::npos)
        << result.errors;
    EXPECT_EQ(query(detour(), "SELECT stage FROM v_interval"), Rows{"after"});
    EXPECT_EQ(fs::file_size(database()), 6000U);
}

}  // namespace
}  // namespace metatrain_timing
