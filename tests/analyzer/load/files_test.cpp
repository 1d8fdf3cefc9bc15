// Which files are read, and what is said of the others.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/error.hpp"
#include "analyzer/load/list_runs.hpp"
#include "analyzer/load/query.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

namespace fs = std::filesystem;
using analyzer::load_run;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

void write_text(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void cut_in_half(const fs::path& path) {
    fs::resize_file(path, fs::file_size(path) / 2);
}

std::string error_of(const std::string& path) {
    try {
        load_run(path);
    } catch (const analyzer::Error& error) {
        return error.what();
    }
    return "no error";
}

// Name and reason of every file that was not read.
std::map<std::string, std::string> skipped(const analyzer::Run& run) {
    std::map<std::string, std::string> reasons;
    for (const auto& file : run.files) {
        if (!file.read) {
            reasons[fs::path(file.path).filename()] = file.reason;
        }
    }
    return reasons;
}

// Everything about a folder that reading must not change.
std::map<std::string, std::pair<std::string, fs::file_time_type>> snapshot(
    const fs::path& folder) {
    std::map<std::string, std::pair<std::string, fs::file_time_type>> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        files[entry.path()] = {entry.is_regular_file() ? content(entry.path()) : "",
                               entry.last_write_time()};
    }
    return files;
}

// A child writes into the file and dies in the middle of a transaction.
void die_while_writing(const fs::path& path, const char* journal_mode) {
    const pid_t child = fork();
    if (child == 0) {
        RunBuilder file(path);
        file.execute(std::string("PRAGMA journal_mode = ") + journal_mode);
        file.execute("PRAGMA cache_size = 2; PRAGMA wal_autocheckpoint = 0");
        const Id track = file.track(file.process(file.run("run-1")));
        file.interval(track, "step", 0, 10);
        file.execute("BEGIN");
        for (int i = 1; i < 2000; ++i) {  // spills into the file
            file.interval(track, "step", 10 * i, 5);
        }
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
}

TEST(Files, GoodOnesAreReadAndEachBadOneIsNamedWithAReason) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const fs::path parts = folder / "run.db.d";
    write_text(parts / "empty.db", "");
    write_worker(parts / "cut.db", 5);
    cut_in_half(parts / "cut.db");
    write_text(parts / "notes.txt", "some words");
    write_text(parts / "gone.db-wal", "stray");
    write_text(parts / "gone.db-journal", "stray");
    write_text(parts / "gone.db.lock", "1");
    RunBuilder(parts / "older.db").execute("PRAGMA user_version = 900");
    RunBuilder(parts / "newer.db").execute("PRAGMA user_version = 90000");
    SQLite::Database(parts / "foreign.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
        .exec("CREATE TABLE interval (a)");

    const auto run = load_run(folder / "run.db");
    EXPECT_EQ(run.processes.size(), 3U);
    EXPECT_THAT(
        skipped(run),
        UnorderedElementsAre(
            Pair("empty.db", "empty"), Pair("cut.db", StartsWith("damaged")),
            Pair("notes.txt", "not a database"),
            Pair("older.db", "schema 0.9.0 is older than this version reads (1.0.0)"),
            Pair("newer.db",
                 "schema 9.0.0 is newer than this version reads (1.0.0); update "
                 "mt-analyze"),
            Pair("foreign.db", "no run of metatrain-timing")));
    EXPECT_EQ(run.warnings.size(), 6U);
}

TEST(Files, MoreOfThemThanDescriptorsAreAllRead) {
    constexpr int kWorkers = 100;
    const TempFolder folder;
    write_main(folder / "run.db");
    for (int worker = 0; worker < kWorkers; ++worker) {
        write_worker(folder / ("run.db.d/rank0-w" + std::to_string(worker) + ".db"),
                     worker);
    }
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{80, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto run = load_run(folder / "run.db");
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_THAT(run.warnings, IsEmpty());
    EXPECT_EQ(run.processes.size(), 1U + kWorkers);
}

TEST(Files, ANewerMinorVersionIsRead) {
    const TempFolder folder;
    write_main(folder / "run.db");
    RunBuilder(folder / "run.db")
        .execute(
            "PRAGMA user_version = 10300; ALTER TABLE interval ADD COLUMN joules REAL;"
            " CREATE TABLE flow (id INTEGER PRIMARY KEY) STRICT");
    EXPECT_EQ(load_run(folder / "run.db").processes.size(), 1U);
}

TEST(Files, ALoneBadFileIsAnErrorWithItsReason) {
    const TempFolder folder;
    const std::string path = folder / "run.db";
    EXPECT_THAT(error_of(path),
                StartsWith(path + ": no such file: nothing was recorded there"));
    write_text(path, "");
    EXPECT_EQ(error_of(path), path + ": empty");
    write_text(path, "words");
    EXPECT_EQ(error_of(path), path + ": not a database");
    fs::remove(path);
    {
        const RunBuilder file(path);
    }
    EXPECT_THAT(error_of(path), StartsWith(path + ": holds no run yet"));
    cut_in_half(path);
    EXPECT_THAT(error_of(path), StartsWith(path + ": damaged"));
    RunBuilder(folder / "9.db").execute("PRAGMA user_version = 90000");
    EXPECT_EQ(error_of(folder / "9.db"),
              (folder / "9.db").string() +
                  ": schema 9.0.0 is newer than this version reads (1.0.0); update"
                  " mt-analyze");
    fs::create_directory(folder / "none");
    EXPECT_THAT(error_of(folder / "none"), HasSubstr("no run files"));
}

TEST(Files, AFolderStandsForTheRunFilesInIt) {
    const TempFolder folder;
    write_training(folder / "a/run.db");
    write_text(folder / "a/options.yaml", "model: pet");
    EXPECT_EQ(load_run(folder / "a").processes.size(), 3U);
    EXPECT_EQ(load_run(folder / "a/").processes.size(), 3U);
    EXPECT_EQ(load_run(folder / "a/run.db.d").processes.size(), 3U);
    EXPECT_THAT(skipped(load_run(folder / "a")),
                ElementsAre(Pair("options.yaml", "not a run file")));
    // without run.db, what is left is shown
    fs::remove(folder / "a/run.db");
    EXPECT_EQ(load_run(folder / "a/run.db").processes.size(), 2U);
}

TEST(Files, OddNamesJustWork) {
    const TempFolder folder;
    for (const std::string name :
         {"50% a#b?mode=rwc é日.db", "file:run.db?mode=rwc", "run.db@2", "%61.db",
          ":memory:", "a'b\"c.db", "new\nline.db"}) {
        const fs::path home = folder / "x";
        fs::create_directory(home);
        write_training(home / name);
        const auto before = snapshot(home);
        const auto run = load_run(home / name);
        EXPECT_EQ(run.processes.size(), 3U) << name;
        const fs::path working = fs::current_path();
        fs::current_path(home);
        EXPECT_EQ(load_run(name).processes.size(), 3U) << name;
        EXPECT_EQ(
            analyzer::run_query(name + "@1", "", "SELECT 1 FROM process").rows.size(),
            3U)
            << name;
        fs::current_path(working);
        EXPECT_EQ(snapshot(home), before) << name;
        fs::remove_all(home);
    }
    write_training(folder / "run.db");
    EXPECT_EQ(load_run("/" + (folder / "run.db").string()).processes.size(), 3U);
}

TEST(Files, ALinkLeadsToTheFileWithItsFolderAndJournal) {
    const TempFolder folder;
    write_training(folder / "runs/run.db");
    fs::create_symlink("runs/run.db", folder / "latest.db");
    EXPECT_EQ(load_run(folder / "latest.db").processes.size(), 3U);
    die_while_writing(folder / "runs/dead.db", "WAL");
    fs::create_symlink("runs/dead.db", folder / "dead.db");
    EXPECT_EQ(
        load_run(folder / "dead.db").processes.at(0).tracks.at(0).intervals.size(), 1U);
}

TEST(Files, AnAtSignSelectsARunOnlyWhereNoFileHasThatName) {
    const TempFolder folder;
    write_main(folder / "run.db", "run-of-plain-name");
    EXPECT_EQ(load_run(folder / "run.db@1").uuid, "run-of-plain-name");
    write_main(folder / "run.db@1", "run-of-odd-name");
    EXPECT_EQ(load_run(folder / "run.db@1").uuid, "run-of-odd-name");
}

TEST(Files, ReadingChangesNothing) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const auto before = snapshot(folder.path());
    load_run(folder / "run.db");
    analyzer::list_runs(folder / "run.db");
    analyzer::run_query(folder / "run.db", "", "SELECT count(*) FROM v_interval");
    EXPECT_EQ(snapshot(folder.path()), before);
}

TEST(Files, WhatADeadProcessLeftHalfDoneIsRolledBackInACopy) {
    for (const char* mode : {"DELETE", "WAL"}) {
        const TempFolder folder;
        const fs::path path = folder / "run.db";
        die_while_writing(path, mode);
        ASSERT_TRUE(fs::exists(path.string() + "-journal") ||
                    fs::exists(path.string() + "-wal"));
        const auto before = snapshot(folder.path());
        const auto run = load_run(path);
        EXPECT_EQ(run.processes.at(0).tracks.at(0).intervals.size(), 1U) << mode;
        EXPECT_THAT(run.warnings, IsEmpty()) << mode;
        EXPECT_EQ(snapshot(folder.path()), before) << mode;
    }
}

TEST(Files, AJournalThatNamesOtherFilesIsRefused) {
    // SQLite would take the name for a "super-journal" and delete that file
    const TempFolder folder;
    const fs::path path = folder / "run.db";
    die_while_writing(path, "DELETE");
    const fs::path victim = folder / "thesis.tex";
    write_text(victim, "years of work");
    const std::string name = victim;
    std::uint32_t checksum = 0;
    for (const char c : name) {
        checksum += static_cast<std::uint32_t>(static_cast<signed char>(c));
    }
    const auto big_endian = [](std::uint32_t value) {
        std::string bytes;
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes += static_cast<char>(value >> shift & 0xFFU);
        }
        return bytes;
    };
    std::ofstream(path.string() + "-journal", std::ios::binary | std::ios::app)
        << big_endian(0x40000000 / 4096 + 1) << name
        << big_endian(static_cast<std::uint32_t>(name.size())) << big_endian(checksum)
        << "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7";
    EXPECT_THAT(error_of(path), HasSubstr("journal"));
    EXPECT_EQ(content(victim), "years of work");
}

TEST(Files, ARunThatIsBeingRecordedIsReadInPlaceAndMarked) {
    const TempFolder folder;
    const fs::path path = folder / "run.db";
    int ready[2];
    int done[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(done), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int lock_file =
            open((path.string() + ".lock").c_str(), O_RDWR | O_CREAT, 0666);
        struct flock lock{};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        fcntl(lock_file, F_SETLK, &lock);
        RunBuilder file(path);
        file.execute("PRAGMA journal_mode = WAL");
        const Id run = file.run("run-1");
        file.process(run, {.uuid = "earlier", .ended_ns = 3, .ending = "clean"});
        const Id track =
            file.track(file.process(run, {.uuid = "now", .started_ns = 5}));
        file.interval(track, "step", 0, 10);
        file.execute("BEGIN IMMEDIATE");
        file.interval(track, "step", 20, 10);  // not committed
        char byte = 0;
        const bool told =
            write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
        file.execute("COMMIT");
        _exit(told ? 0 : 1);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    const auto run = load_run(path);
    const auto list = analyzer::list_runs(path);
    ASSERT_EQ(write(done[1], &byte, 1), 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);  // the recorder saw no error

    ASSERT_EQ(run.processes.size(), 2U);
    EXPECT_FALSE(run.processes[0].alive);
    EXPECT_TRUE(run.processes[1].alive);
    EXPECT_EQ(run.processes[1].tracks.at(0).intervals.size(), 1U);
    ASSERT_EQ(run.warnings.size(), 1U);
    EXPECT_EQ(run.warnings[0].code, "still_recording");
    EXPECT_EQ(list.runs.at(0).ended, "recording");
    EXPECT_NE(analyzer::list_runs(path).runs.at(0).ended, "recording");
}

TEST(Files, ReadingInTheRecordingProcessLeavesItsLocksAlone) {
    const TempFolder folder;
    const fs::path path = folder / "run.db";
    write_main(path);
    const std::string lock_path = path.string() + ".lock";
    const int lock_file = open(lock_path.c_str(), O_RDWR | O_CREAT, 0666);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    ASSERT_EQ(fcntl(lock_file, F_SETLK, &lock), 0);
    RunBuilder writer(path);
    writer.execute("BEGIN IMMEDIATE");
    load_run(path);

    const pid_t child = fork();
    if (child == 0) {  // another process sees both locks still held
        const int again = open(lock_path.c_str(), O_RDWR);
        struct flock other = lock;
        const bool held = fcntl(again, F_SETLK, &other) != 0;
        bool busy = false;
        try {
            SQLite::Database(path.string(), SQLite::OPEN_READWRITE)
                .exec("BEGIN IMMEDIATE");
        } catch (const SQLite::Exception&) {
            busy = true;
        }
        _exit(held && busy ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    close(lock_file);
}

}  // namespace
}  // namespace metatrain_timing::test
