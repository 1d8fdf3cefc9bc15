#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/error.hpp"
#include "analyzer/load/list_runs.hpp"
#include "analyzer/load/merge.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

namespace fs = std::filesystem;
using analyzer::merge_in_place;
using analyzer::merge_to;
using testing::ElementsAre;
using testing::HasSubstr;

// What the views tell of the whole, as text.
std::vector<std::string> told(const fs::path& path) {
    return query(
        path,
        "SELECT run, role, worker, phase, loader, epoch, stage, start_ns, dur_ns,"
        " depth, step, batch FROM v_interval ORDER BY start_ns, depth");
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
}

void expect_sound(const fs::path& path) {
    EXPECT_THAT(query(path, "PRAGMA integrity_check"), ElementsAre("ok"));
    EXPECT_THAT(query(path, "PRAGMA foreign_key_check"), ElementsAre());
    EXPECT_THAT(query(path, "PRAGMA journal_mode"), ElementsAre("delete"));
}

// Leaves out two calls of `step` (60 and 20 long) with one `optimizer` (30) in them, as
// a buffer was full; and what the size limit took.
void add_totals(const fs::path& path) {
    RunBuilder(path).execute(
        "INSERT INTO interval_total (id, track_id, parent_id, stage_id, iterator_id,"
        "  calls, total_ns, first_ns, last_ns, node)"
        " SELECT 7, 1, NULL, id, 1, 2, 80, 500, 600, 0 FROM stage WHERE name = 'step';"
        "INSERT INTO interval_total (id, track_id, parent_id, stage_id, iterator_id,"
        "  calls, total_ns, cpu_ns, cpu_wall_ns, node)"
        " SELECT 9, 1, 7, id, 1, 1, 30, 25, 30, 1 FROM stage WHERE name = 'optimizer';"
        "INSERT INTO interval_total (id, track_id, parent_id, stage_id, calls, "
        "total_ns)"
        " SELECT 10, 1, NULL, id, 4, 7 FROM stage WHERE name = 'loader';"
        "INSERT INTO interval_total (id, track_id, parent_id, stage_id, calls, "
        "total_ns)"
        " SELECT 11, 1, NULL, id, 5, 9 FROM stage WHERE name = 'loader';"
        "INSERT INTO counter_name VALUES (1, 'atoms');"
        "INSERT INTO counter VALUES (1, 1, 1, 100, 5.0, 0, 1, 0);"
        "INSERT INTO counter_total VALUES (1, 1, 1, 1, 2, 7.0, 0);"
        "INSERT INTO counter_total VALUES (2, 1, 1, 1, 2, 0.5, NULL);");
}

TEST(Merge, SumsOfWhatWasLeftOutGoAlongAndAreInTheViews) {
    const TempFolder folder;
    write_training(folder / "run.db");
    add_totals(folder / "run.db");
    merge_to(folder / "run.db", "", folder / "all.db");
    expect_sound(folder / "all.db");
    for (const char* file : {"run.db", "all.db"}) {
        EXPECT_THAT(
            query(folder / file,
                  "SELECT above.name, own.name, part.calls, part.total_ns, part.cpu_ns,"
                  " part.cpu_wall_ns, part.first_ns, part.last_ns, part.node"
                  " FROM interval_total AS part"
                  " JOIN stage AS own ON own.id = part.stage_id"
                  " LEFT JOIN interval_total AS whole ON whole.id = part.parent_id"
                  " LEFT JOIN stage AS above ON above.id = whole.stage_id ORDER BY "
                  "part.id"),
            ElementsAre("NULL|step|2|80|NULL|0|500|600|0",
                        "step|optimizer|1|30|25|30|NULL|NULL|1",
                        "NULL|loader|4|7|NULL|0|NULL|NULL|NULL",
                        "NULL|loader|5|9|NULL|0|NULL|NULL|NULL"));
        EXPECT_THAT(query(folder / file,
                          "SELECT stage, calls, total_ns, max_ns FROM v_stage_summary"
                          " WHERE role = 'main' AND stage IN ('optimizer', 'step') "
                          "ORDER BY stage"),
                    ElementsAre("optimizer|3|50|10", "step|4|140|30"));
        EXPECT_THAT(query(folder / file, "SELECT total FROM v_counter_rate"),
                    ElementsAre("12.5"));
        EXPECT_THAT(
            query(folder / file, "SELECT calls, value, node FROM counter_total"),
            ElementsAre("2|7.0|0", "2|0.5|NULL"));
    }
}

TEST(Merge, StoredViewsAnswerForTheWholeRun) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const auto result = merge_to(folder / "run.db", "", folder / "all.db");
    EXPECT_EQ(result.run_count, 1U);
    EXPECT_EQ(result.file_count, 3U);
    EXPECT_THAT(told(folder / "all.db"),
                ElementsAre("run-1|worker|0|train|train|0|fetch|20|40|0|NULL|0",
                            "run-1|worker|1|train|train|0|fetch|30|40|0|NULL|1",
                            "run-1|worker|0|train|train|0|collate|40|20|1|NULL|0",
                            "run-1|worker|1|train|train|0|collate|50|20|1|NULL|1",
                            "run-1|main|NULL|train|train|0|loader|100|10|0|0|0",
                            "run-1|main|NULL|train|train|0|step|110|30|0|0|0",
                            "run-1|main|NULL|train|train|0|optimizer|130|10|1|0|0",
                            "run-1|main|NULL|train|train|0|loader|140|10|0|1|1",
                            "run-1|main|NULL|train|train|0|step|150|30|0|1|1",
                            "run-1|main|NULL|train|train|0|optimizer|170|10|1|1|1"));
    EXPECT_EQ(number(folder / "all.db", "SELECT count(*) FROM loader"), 1);
    EXPECT_EQ(number(folder / "all.db", "SELECT count(*) FROM iterator"), 1);
    expect_sound(folder / "all.db");
}

TEST(Merge, AMergedFileMergesToTheSameAgain) {
    const TempFolder folder;
    write_training(folder / "run.db");
    merge_to(folder / "run.db", "", folder / "once.db");
    merge_to(folder / "once.db", "", folder / "twice.db");
    EXPECT_EQ(told(folder / "twice.db"), told(folder / "once.db"));
    // beside its parts it adds nothing
    fs::copy_file(folder / "once.db", folder / "run.db.d/once.db");
    merge_to(folder / "run.db", "", folder / "again.db");
    EXPECT_EQ(told(folder / "again.db"), told(folder / "once.db"));
    merge_to(folder.path(), "", folder / "everything.db");
    EXPECT_EQ(told(folder / "everything.db"), told(folder / "once.db"));
}

TEST(Merge, KeepsEveryKindOfRow) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id process =
            file.process(file.run("run-1"), {.dropped_count = 3, .unsummed_count = 1});
        const Id track = file.track(process, "thread");
        const Id loader = file.loader({.process = process});
        const Id pass = file.iterator({.loader = loader, .number = 4, .epoch = 2});
        file.open_interval(track, "step", 7, {.iterator = pass, .batch = 1, .step = 2});
        file.counter(track, "atoms", 8, 1.5, {.iterator = pass});
        file.clock(process, 1, 2);
        file.clock(process, 3, 4);
        file.cpu_usage(process, std::nullopt, 5, 50, std::nullopt);
        file.cpu_usage(process, track, 5, 40, 3);
        file.fact(process, "key", "value");
        file.health(process, "code", "text");
        file.interval(track, "step", 1, 2, {.cpu_ns = 99});
    }
    write_worker(folder / "run.db.d/w.db", 0, "run-2", "nobody");
    merge_to(folder / "run.db", "", folder / "all.db");
    const auto rows = [&](const std::string& sql) {
        return query(folder / "all.db", sql);
    };
    EXPECT_THAT(rows("SELECT stage.name, start_ns, step, iterator.number, batch FROM"
                     " open_interval JOIN stage ON stage.id = stage_id JOIN iterator ON"
                     " iterator.id = iterator_id"),
                ElementsAre("step|7|2|4|1"));
    EXPECT_THAT(rows("SELECT name, at_ns, value FROM counter JOIN counter_name ON"
                     " counter_name.id = name_id"),
                ElementsAre("atoms|8|1.5"));
    EXPECT_THAT(rows("SELECT monotonic_ns, unix_ns FROM clock ORDER BY id"),
                ElementsAre("1|2", "3|4"));
    EXPECT_THAT(rows("SELECT thread, cpu_ns, queued_ns FROM cpu_usage LEFT JOIN (SELECT"
                     " id, name AS thread FROM track) AS track ON track.id = track_id"
                     " ORDER BY cpu_usage.id"),
                ElementsAre("NULL|50|NULL", "thread|40|3"));
    EXPECT_THAT(rows("SELECT key, value FROM environment"), ElementsAre("key|value"));
    EXPECT_THAT(rows("SELECT at_ns, code, text FROM health"),
                ElementsAre("5|code|text"));
    EXPECT_THAT(rows("SELECT cpu_ns FROM interval WHERE cpu_ns"), ElementsAre("99"));
    EXPECT_THAT(rows("SELECT uuid, attempt FROM run ORDER BY uuid"),
                ElementsAre("run-1|1", "run-2|NULL"));
    EXPECT_THAT(rows("SELECT dropped_count, unsummed_count FROM process"
                     " WHERE uuid = 'main-0'"),
                ElementsAre("3|1"));
    EXPECT_THAT(rows("SELECT DISTINCT phase FROM v_interval WHERE role = 'worker'"),
                ElementsAre("unknown"));
    expect_sound(folder / "all.db");
}

TEST(Merge, TakesOneRunWhereOneIsNamed) {
    const TempFolder folder;
    write_training(folder / "run.db");
    write_main(folder / "run.db", "run-2", "main-1");
    merge_to(folder / "run.db", "run-2", folder / "two.db");
    EXPECT_THAT(query(folder / "two.db", "SELECT uuid FROM process"),
                ElementsAre("main-1"));
    EXPECT_EQ(number(folder / "two.db", "SELECT count(*) FROM interval"), 6);
    merge_to(folder / "run.db@1", "", folder / "one.db");
    EXPECT_EQ(number(folder / "one.db", "SELECT count(*) FROM process"), 3);
}

TEST(Merge, NothingIsOverwritten) {
    const TempFolder folder;
    write_training(folder / "run.db");
    std::ofstream(folder / "all.db") << "mine";
    EXPECT_THROW(merge_to(folder / "run.db", "", folder / "all.db"), analyzer::Error);
    std::string kept;
    std::ifstream(folder / "all.db") >> kept;
    EXPECT_EQ(kept, "mine");
    EXPECT_THROW(merge_to(folder / "run.db", "", folder / "run.db"), analyzer::Error);
    EXPECT_THROW(merge_to(folder / "run.db", "", folder / "no such folder/all.db"),
                 analyzer::Error);
    EXPECT_THAT(names_in(folder.path()), ElementsAre("all.db", "run.db", "run.db.d"));
}

TEST(Merge, InPlaceFoldsTheFolderIntoTheFile) {
    const TempFolder folder;
    write_training(folder / "run.db");
    merge_to(folder / "run.db", "", folder / "all.db");
    merge_in_place(folder / "run.db");
    EXPECT_EQ(told(folder / "run.db"), told(folder / "all.db"));
    EXPECT_THAT(names_in(folder.path()), ElementsAre("all.db", "run.db"));
    merge_in_place(folder / "run.db");  // a second time does nothing
    EXPECT_EQ(told(folder / "run.db"), told(folder / "all.db"));
    expect_sound(folder / "run.db");
    EXPECT_EQ(analyzer::load_run(folder / "run.db").processes.size(), 3U);
}

TEST(Merge, InPlaceLeavesWhatItCannotReadWhereItIs) {
    const TempFolder folder;
    write_training(folder / "run.db");
    std::ofstream(folder / "run.db.d/notes.txt") << "mine";
    const auto result = merge_in_place(folder / "run.db");
    EXPECT_THAT(names_in(folder / "run.db.d"), ElementsAre("notes.txt"));
    ASSERT_EQ(result.warnings.size(), 1U);
    EXPECT_THAT(result.warnings[0].text, HasSubstr("notes.txt"));
}

TEST(Merge, InPlaceRefusesARunThatIsBeingRecorded) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const std::string lock_path = folder / "run.db.d/rank0-w01.db.lock";
    int ready[2];
    int done[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(done), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int lock_file = open(lock_path.c_str(), O_RDWR | O_CREAT, 0666);
        struct flock lock{};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        char byte = 0;
        _exit(fcntl(lock_file, F_SETLK, &lock) == 0 && write(ready[1], &byte, 1) == 1 &&
                      read(done[0], &byte, 1) == 1
                  ? 0
                  : 1);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_THROW(merge_in_place(folder / "run.db"), analyzer::Error);
    EXPECT_THAT(names_in(folder / "run.db.d"),
                ElementsAre("rank0-w00.db", "rank0-w01.db", "rank0-w01.db.lock"));
    EXPECT_EQ(number(folder / "run.db", "SELECT count(*) FROM process"), 1);
    ASSERT_EQ(write(done[1], &byte, 1), 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    // its lock file is left behind by a death, and no hindrance
    merge_in_place(folder / "run.db");
    EXPECT_THAT(names_in(folder.path()), ElementsAre("run.db"));
}

TEST(Merge, InPlaceRollsBackWhatADeadProcessLeftHalfDone) {
    const TempFolder folder;
    write_training(folder / "run.db");
    for (const std::string name : {"run.db", "run.db.d/rank0-w00.db"}) {
        const pid_t child = fork();
        if (child == 0) {
            RunBuilder file(folder / name);
            file.execute("PRAGMA cache_size = 2; BEGIN");
            for (int i = 1; i < 2000; ++i) {
                file.interval(1, "step", 1000 + 10 * i, 5);
            }
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        ASSERT_TRUE(fs::exists(folder / (name + "-journal")));
    }
    merge_in_place(folder / "run.db");
    EXPECT_THAT(names_in(folder.path()), ElementsAre("run.db"));
    EXPECT_EQ(number(folder / "run.db", "SELECT count(*) FROM interval"), 10);
    expect_sound(folder / "run.db");
}

TEST(ListRuns, CountsFinishedBodiesInWhichAnOptimizerStepped) {
    const TempFolder folder;
    write_training(folder / "run.db");
    {
        RunBuilder file(folder / "run.db");
        // a third turn, interrupted after its optimizer, and an evaluation pass
        const Id evaluation =
            file.iterator({.loader = 1, .number = 2, .phase = "evaluation"});
        file.interval(1, "optimizer", 185, 1,
                      {.depth = 1, .iterator = 1, .batch = 2, .step = 2});
        file.interval(1, "step", 188, 1,
                      {.iterator = evaluation, .batch = 0, .step = 2});
    }
    write_main(folder / "run.db", "run-2", "main-1");
    const auto list = analyzer::list_runs(folder / "run.db");
    ASSERT_EQ(list.runs.size(), 2U);
    EXPECT_EQ(list.runs[0].index, 1U);
    EXPECT_EQ(list.runs[0].step_count, 2);
    EXPECT_EQ(list.runs[0].rank_count, 1);
    EXPECT_EQ(list.runs[0].ended, "clean");
    EXPECT_FALSE(list.runs[0].newest);
    EXPECT_TRUE(list.runs[1].newest);
}

}  // namespace
}  // namespace metatrain_timing::test
