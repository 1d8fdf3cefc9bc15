#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>
#include <metatrain_timing/recorder/recovery.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

// What a training does with a place it cannot write to: it says one line and goes on.
namespace metatrain_timing {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::string>;
using test::fork_child;
using test::in_child;
using test::query;
using testing::Test;

void record(const char* name) {
    const Interval interval(stage(name));
}

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::ptrdiff_t line_count(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

/// Descriptors of this process for files below the folders.
std::vector<int> descriptors_of(const std::vector<fs::path>& folders) {
    std::vector<int> found;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const std::string target = fs::read_symlink(entry.path(), error);
        for (const fs::path& folder : folders) {
            if (target.starts_with(folder.native() + "/")) {
                found.push_back(std::stoi(entry.path().filename()));
            }
        }
    }
    return found;
}

bool is_subset(const std::vector<int>& part, const std::vector<int>& whole) {
    return std::all_of(part.begin(), part.end(), [&](int one) {
        return std::find(whole.begin(), whole.end(), one) != whole.end();
    });
}

/// Gives up the rights of root, to whom nothing is forbidden.
void become_nobody() {
    if (geteuid() == 0) {
        constexpr uid_t kNobody = 65534;
        ASSERT_EQ(setgid(kNobody), 0);
        ASSERT_EQ(setuid(kNobody), 0);
    }
}

class TroubleTest : public Test {
  protected:
    TroubleTest() { fs::permissions(folder_.path(), fs::perms::all); }

    /// A training with a forked worker; both record, then end cleanly.
    static void train(const fs::path& database) {
        start({.database = database});
        fix_identity();
        record("main");
        flush();
        const pid_t worker = fork_child([] {
            set_process({.role = ProcessInfo::Role::worker, .worker_id = 0});
            record("worker");
            stop();
        });
        EXPECT_EQ(test::exit_code_of(worker), 0);
        record("main");
        stop();
    }

    test::ChildResult run_training(const fs::path& database) {
        const auto result = in_child([&] { train(database); });
        EXPECT_EQ(result.exit_code, 0);
        return result;
    }

    /// The only database of the training process in `run.db.d`.
    fs::path detour_of(const fs::path& database) {
        fs::path found;
        for (const auto& entry : fs::directory_iterator(database.string() + ".d")) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with("main-") && name.ends_with(".db")) {
                EXPECT_EQ(found, fs::path()) << "a second one";
                found = entry.path();
            }
        }
        return found;
    }

    /// Expects one line with `reason`, an unchanged file and all records elsewhere.
    void expect_detour(const fs::path& database, const std::string& reason) {
        const std::string before = text_of(database);
        const auto result = run_training(database);
        EXPECT_EQ(line_count(result.errors), 1) << result.errors;
        EXPECT_NE(result.errors.find(database.string() + " " + reason),
                  std::string::npos)
            << result.errors;
        EXPECT_EQ(text_of(database), before);
        EXPECT_EQ(query(detour_of(database), "SELECT count(*) FROM interval"),
                  Rows{"2"});
        EXPECT_EQ(query(detour_of(database), "SELECT code FROM health"),
                  Rows{"other_file"});
        EXPECT_EQ(query(fs::path(database.string() + ".d") / "rank0-w00.db",
                        "SELECT stage FROM v_interval"),
                  Rows{"worker"});
        EXPECT_FALSE(fs::exists(database.string() + ".lock"));
    }

    /// Expects one line with `reason` and nothing made.
    void expect_nothing(const fs::path& database, const std::string& reason) {
        const auto result = run_training(database);
        EXPECT_EQ(line_count(result.errors), 1) << result.errors;
        EXPECT_NE(
            result.errors.find("cannot write " + database.string() + ": " + reason),
            std::string::npos)
            << result.errors;
        EXPECT_FALSE(fs::exists(database));
        EXPECT_FALSE(fs::exists(database.string() + ".d"));
    }

    test::TempFolder folder_;
};

TEST_F(TroubleTest, AFolderIsLeftAlone) {
    fs::create_directory(folder_ / "run.db");
    expect_detour(folder_ / "run.db", "is a folder");
    EXPECT_TRUE(fs::is_empty(folder_ / "run.db"));
}

TEST_F(TroubleTest, AFileThatIsNoDatabaseIsLeftAlone) {
    std::ofstream(folder_ / "run.db") << std::string(5000, 'x');
    expect_detour(folder_ / "run.db", "is not an SQLite database");
}

TEST_F(TroubleTest, ADatabaseOfSomethingElseIsLeftAlone) {
    {
        SQLite::Database other((folder_ / "run.db").string(),
                               SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        other.exec("CREATE TABLE photo (id INTEGER PRIMARY KEY)");
    }
    expect_detour(folder_ / "run.db", "is a database of something else");
}

TEST_F(TroubleTest, AForeignApplicationIdIsLeftAlone) {
    {
        SQLite::Database other((folder_ / "run.db").string(),
                               SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        other.exec("PRAGMA application_id = 7");
    }
    expect_detour(folder_ / "run.db", "is a database of something else");
}

TEST_F(TroubleTest, ANewerSchemaIsLeftAlone) {
    run_training(folder_ / "run.db");
    fs::remove_all(folder_ / "run.db.d");
    SQLite::Database((folder_ / "run.db").string(), SQLite::OPEN_READWRITE)
        .exec("PRAGMA user_version = 20000");
    expect_detour(folder_ / "run.db", "was written by a newer version");
}

TEST_F(TroubleTest, AnEmptyFileIsFilled) {
    std::ofstream(folder_ / "run.db").flush();
    EXPECT_EQ(run_training(folder_ / "run.db").errors, "");
    EXPECT_EQ(query(folder_ / "run.db", "SELECT count(*) FROM interval"), Rows{"2"});
}

TEST_F(TroubleTest, AMissingFolderIsMade) {
    const fs::path database = folder_ / "runs/run.db";
    EXPECT_EQ(run_training(database).errors, "");
    EXPECT_EQ(query(database, "SELECT count(*) FROM interval"), Rows{"2"});
}

TEST_F(TroubleTest, AMissingFolderInAMissingFolderIsNotMade) {
    expect_nothing(folder_ / "no/where/run.db", "No such file or directory");
    EXPECT_FALSE(fs::exists(folder_ / "no"));
}

TEST_F(TroubleTest, AFileIsNoFolder) {
    std::ofstream(folder_ / "file") << "text";
    expect_nothing(folder_ / "file/run.db", "Not a directory");
    EXPECT_EQ(text_of(folder_ / "file"), "text");
}

TEST_F(TroubleTest, AFolderWithoutPermissionIsSaidOnce) {
    fs::create_directory(folder_ / "closed");
    fs::permissions(folder_ / "closed", fs::perms(0555));
    const fs::path database = folder_ / "closed/run.db";
    const auto result = in_child([&] {
        become_nobody();
        train(database);
        EXPECT_FALSE(recording());
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "metatrain-timing: cannot write " + database.string() +
                                 ": Permission denied; recording is off\n");
    EXPECT_TRUE(fs::is_empty(folder_ / "closed"));
}

TEST_F(TroubleTest, AFileWithoutPermissionIsLeftAlone) {
    const fs::path database = folder_ / "run.db";
    run_training(database);
    fs::remove_all(folder_ / "run.db.d");
    fs::permissions(database, fs::perms(0444));
    const std::string before = text_of(database);
    const auto result = in_child([&] {
        become_nobody();
        train(database);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_NE(result.errors.find("run.db cannot be written; recording to "),
              std::string::npos)
        << result.errors;
    EXPECT_EQ(text_of(database), before);
    EXPECT_EQ(query(detour_of(database), "SELECT count(*) FROM interval"), Rows{"2"});
}

TEST_F(TroubleTest, ChildrenStartedByExecDoNotSayItAgain) {
    const fs::path database = folder_ / "no/where/run.db";
    const auto parent = in_child([&] {
        start({.database = database});
        fix_identity();
        setenv("METATRAIN_TIMING_TEST", "1", 1);
        // As after exec: the environment is all that is left.
        std::string variables;
        for (const char* name : {"METATRAIN_TIMING_RUN", "METATRAIN_TIMING_WARNED"}) {
            const char* const value = std::getenv(name);
            ASSERT_NE(value, nullptr) << name;
            variables += std::string(value) + "\n";
        }
        std::ofstream(folder_ / "variables") << variables;
    });
    EXPECT_EQ(line_count(parent.errors), 1) << parent.errors;
    std::ifstream file(folder_ / "variables");
    std::string run;
    std::string warned;
    std::getline(file, run);
    std::getline(file, warned);
    const auto child = in_child([&] {
        setenv("METATRAIN_TIMING_RUN", run.c_str(), 1);
        setenv("METATRAIN_TIMING_WARNED", warned.c_str(), 1);
        start({.database = database});
        record("child");
        stop();
    });
    EXPECT_EQ(child.errors, "");
    const auto other_run = in_child([&] {
        setenv("METATRAIN_TIMING_WARNED", warned.c_str(), 1);
        start({.database = database});
        record("main");
        stop();
    });
    EXPECT_EQ(line_count(other_run.errors), 1) << other_run.errors;
}

TEST_F(TroubleTest, OneRankOfAHostSpeaks) {
    const auto rank = [this](const char* number) {
        return in_child([&] {
                   setenv("RANK", number, 1);
                   setenv("LOCAL_RANK", number, 1);
                   setenv("WORLD_SIZE", "2", 1);
                   start({.database = folder_ / "no/where/run.db"});
                   record("main");
                   stop();
               })
            .errors;
    };
    EXPECT_EQ(line_count(rank("0")), 1);
    EXPECT_EQ(rank("1"), "");
}

TEST_F(TroubleTest, AFileSizeLimitIsSaidOnceAndSurvived) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        start({.database = database});
        for (int index = 0; index < 1000; ++index) {
            record("before");
        }
        flush();
        const auto written =
            static_cast<rlim_t>(fs::file_size(database.string() + "-wal"));
        rlimit before{};
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit low{written, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &low);  // SIGXFSZ is not ignored: it would end us
        for (int index = 0; index < 2000; ++index) {
            record("during");
        }
        flush();
        flush();
        EXPECT_TRUE(health().degraded);
        setrlimit(RLIMIT_FSIZE, &before);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(query(database, "PRAGMA integrity_check"), Rows{"ok"});
    EXPECT_EQ(
        query(database, "SELECT stage, calls FROM v_stage_summary ORDER BY stage"),
        (Rows{"before|1000", "during|2000"}));
    EXPECT_EQ(query(database, "SELECT dropped_count, ending FROM process"),
              Rows{"0|clean"});
    EXPECT_EQ(query(database, "SELECT count(*) FROM health"), Rows{"1"});
}

TEST_F(TroubleTest, AReaderInTheWayOnlyDelays) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        start({.database = database});
        record("before");
        flush();
        {
            SQLite::Database other(database.string(), SQLite::OPEN_READWRITE);
            other.exec("BEGIN IMMEDIATE");
            record("during");
            turn_ended();
            EXPECT_EQ(health().recorded_count, 1);
            other.exec("COMMIT");
        }
        flush();
        EXPECT_EQ(health().recorded_count, 2);
        EXPECT_FALSE(health().degraded);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(query(database, "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"before", "during"}));
}

TEST_F(TroubleTest, AReaderOfAnOlderRunIsNotWaitedForForever) {
    const fs::path database = folder_ / "run.db";
    run_training(database);
    fs::remove_all(folder_ / "run.db.d");
    const auto result = in_child([&] {
        SQLite::Database reader(database.string(), SQLite::OPEN_READONLY);
        SQLite::Statement rows(reader, "SELECT count(*) FROM interval");
        ASSERT_TRUE(rows.executeStep());  // a read transaction is open from here on
        start({.database = database});
        record("main");
        stop();
        EXPECT_EQ(rows.getColumn(0).getInt(), 2);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.errors.find("run.db is locked by another program; recording to "),
              std::string::npos)
        << result.errors;
    EXPECT_EQ(query(detour_of(database), "SELECT stage FROM v_interval"), Rows{"main"});
}

TEST_F(TroubleTest, AWriterInTheWayAtTheEndIsSaidAndNothingIsLost) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        start({.database = database});
        record("before");
        flush();
        SQLite::Database other(database.string(), SQLite::OPEN_READWRITE);
        other.exec("BEGIN IMMEDIATE");
        record("at the end");
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors,
              "metatrain-timing: " + database.string() +
                  " could not be written to the end; the next training or mt-analyze "
                  "saves the last records\n");
    EXPECT_EQ(recover(database).record_count, 1);
    EXPECT_EQ(query(database, "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"before", "at the end"}));
}

TEST_F(TroubleTest, ALiveRunCanBeRead) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        start({.database = database});
        record("first");
        flush();
        SQLite::Database reader(database.string(), SQLite::OPEN_READONLY);
        SQLite::Statement rows(reader, "SELECT count(*) FROM interval");
        ASSERT_TRUE(rows.executeStep());  // a read transaction is open from here on
        EXPECT_EQ(rows.getColumn(0).getInt(), 1);
        record("second");
        flush();
        EXPECT_EQ(health().recorded_count, 2);
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database, "SELECT ending, ended_ns FROM process"),
              Rows{"unknown|NULL"});
    EXPECT_EQ(query(database, "SELECT count(*) FROM interval"), Rows{"2"});
}

TEST_F(TroubleTest, ACountThatIsNoNumberIsDroppedAlone) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        start({.database = database});
        const CounterId loss = counter("loss");
        count(loss, 1.5);
        count(loss, std::numeric_limits<double>::quiet_NaN());
        count(loss, std::numeric_limits<double>::infinity());
        record("after");
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(query(database, "SELECT value FROM counter"), Rows{"1.5"});
    EXPECT_EQ(query(database, "SELECT stage FROM v_interval"), Rows{"after"});
    EXPECT_EQ(query(database, "SELECT dropped_count FROM process"), Rows{"2"});
}

// A program that opens and closes the file elsewhere, to copy it, loses the locks of
// all its own connections to it. The next reader then takes itself for the last one.
TEST_F(TroubleTest, ACopyMadeByTheTrainingItselfDoesNoHarm) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        start({.database = database});
        record("before");
        flush();
        for (const char* suffix : {"", "-wal", "-shm"}) {
            fs::copy_file(database.string() + suffix,
                          folder_ / (std::string("copy") + suffix));
        }
        // Another program: a forked child would inherit SQLite's idea of the file.
        const std::string read = "sqlite3 '" + database.string() +
                                 "' 'SELECT count(*) FROM interval' >'" +
                                 (folder_ / "count").string() + "'";
        EXPECT_EQ(std::system(read.c_str()), 0);  // NOLINT(cert-env33-c)
        EXPECT_EQ(text_of(folder_ / "count"), "1\n");
        record("after");
        flush();
        kill(getpid(), SIGKILL);  // a clean end would bring the lost file in
    });
    EXPECT_EQ(result.exit_code, 128 + SIGKILL);
    EXPECT_EQ(query(database, "PRAGMA integrity_check"), Rows{"ok"});
    EXPECT_EQ(query(database, "SELECT stage FROM v_interval ORDER BY interval_id"),
              (Rows{"before", "after"}));
}

TEST_F(TroubleTest, AFileThatIsRenamedTakesItsRowsAlong) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        start({.database = database});
        record("before");
        flush();
        fs::rename(database, folder_ / "old.db");
        record("after");
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    EXPECT_EQ(query(folder_ / "old.db", "SELECT stage FROM v_interval"),
              Rows{"before"});
    EXPECT_EQ(query(database, "SELECT stage FROM v_interval"), Rows{"after"});
    EXPECT_EQ(query(database, "SELECT code FROM health"), Rows{"file_lost"});
}

// As daemons do, and os.closerange(): what we had open is the program's file next.
TEST_F(TroubleTest, AProgramThatClosesOurFilesKeepsItsOwnClean) {
    if (!test::kForksWithThreads) {
        GTEST_SKIP()
            << "to close a descriptor that is in use is a race to ThreadSanitizer";
    }
    const fs::path database = folder_ / "run.db";
    const fs::path own = folder_ / "own";
    const auto result = in_child([&] {
        start({.database = database});
        record("before");
        // Whoever closes files while another thread writes to them has lost: this is
        // about the time after. By then the drain has written what it finds out by
        // itself.
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        flush();
        const std::vector<int> ours = descriptors_of({folder_.path(), "/dev/shm"});
        EXPECT_GE(ours.size(), 5U);  // database, WAL, its index, the lock, the ring
        for (const int descriptor : ours) {
            close(descriptor);
        }
        std::vector<int> programs;
        while (!is_subset(ours, programs) && programs.size() < 100) {
            programs.push_back(open(own.c_str(), O_RDWR | O_CREAT, 0600));
        }
        EXPECT_TRUE(is_subset(ours, programs));
        record("in the ring, if nothing was noticed yet");
        flush();
        EXPECT_FALSE(recording());
        record("too late");
        std::thread([] { record("of another thread"); }).join();
        stop();
        EXPECT_EQ(fs::file_size(own), 0U);
        for (const int descriptor : programs) {
            EXPECT_GE(fcntl(descriptor, F_GETFD), 0);
        }
    });
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(line_count(result.errors), 1) << result.errors;
    recover(database);
    EXPECT_EQ(query(database, "PRAGMA integrity_check"), Rows{"ok"});
    EXPECT_EQ(
        query(database, "SELECT stage FROM v_interval WHERE stage NOT LIKE 'in %'"),
        Rows{"before"});
}

TEST_F(TroubleTest, ASizeLimitThatIsNoSizeIsSaidAndNotedOnce) {
    const fs::path database = folder_ / "run.db";
    const auto result = in_child([&] {
        setenv("METATRAIN_TIMING_DB", database.c_str(), 1);
        setenv("METATRAIN_TIMING_MAX_SIZE", "-5", 1);
        start(options_from_environment());
        record("main");
        const pid_t child = fork();
        if (child == 0) {
            record("child");
            stop();
            _exit(0);
        }
        waitpid(child, nullptr, 0);
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors,
              "metatrain-timing: METATRAIN_TIMING_MAX_SIZE=-5: no size like '500 MB'; "
              "the limit is 2 GiB\n");
    EXPECT_EQ(query(database, "SELECT code, count(*) FROM health"), Rows{"options|1"});
    EXPECT_EQ(query(database, "SELECT stage FROM v_interval"), Rows{"main"});
}

TEST_F(TroubleTest, OddPathsAreTakenAsTheyAre) {
    const fs::path folder = folder_ / "50% a#b?mode=rwc é日";
    fs::create_directory(folder);
    const auto result = in_child([&] {
        fs::current_path(folder_.path());
        setenv("METATRAIN_TIMING_DB", "50% a#b?mode=rwc é日/run.db", 1);
        start(options_from_environment());
        fs::current_path("/");
        fix_identity();
        EXPECT_EQ(std::string(std::getenv("METATRAIN_TIMING_DB")),
                  (folder / "run.db").string());
        record("main");
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(query(folder / "run.db", "SELECT count(*) FROM interval"), Rows{"1"});
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace metatrain_timing
