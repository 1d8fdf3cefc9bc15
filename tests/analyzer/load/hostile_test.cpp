// Files from strangers: nothing in them runs, writes or takes the place of a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/error.hpp"
#include "analyzer/load/query.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

using analyzer::load_run;
using analyzer::run_query;
using testing::HasSubstr;

std::string error_of(const std::string& path) {
    try {
        load_run(path);
    } catch (const analyzer::Error& error) {
        return error.what();
    }
    return "no error";
}

struct Change {
    const char* sql;
    const char* reason;
};

TEST(Hostile, WhatOnlyLooksLikeATableIsRefused) {
    for (const Change& change : {
             Change{"DROP TABLE interval; CREATE VIEW interval AS SELECT 1 AS id",
                    "no table 'interval'"},
             Change{"DROP TABLE health", "no table 'health'"},
             Change{"DROP TABLE counter; CREATE VIRTUAL TABLE counter USING fts5(id)",
                    "no table 'counter'"},
             Change{"DROP TABLE stage; CREATE TABLE stage (id INTEGER PRIMARY KEY)",
                    "table 'stage' has no column 'name'"},
             Change{"ALTER TABLE stage ADD COLUMN more TEXT AS (hex(name))",
                    "table 'stage' has computed columns"},
         }) {
        const TempFolder folder;
        write_main(folder / "run.db");
        RunBuilder(folder / "run.db").execute(change.sql);
        EXPECT_THAT(error_of(folder / "run.db"), HasSubstr(change.reason))
            << change.sql;
    }
}

TEST(Hostile, APipeInThePlaceOfAJournalIsNotWaitedFor) {
    for (const char* suffix : {"-journal", "-wal", "-shm", ".lock"}) {
        const TempFolder folder;
        write_main(folder / "run.db");
        const std::string pipe = (folder / "run.db").string() + suffix;
        ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
        EXPECT_THAT(
            error_of(folder / "run.db"),
            HasSubstr(std::string("run.db") + suffix + " beside it is not a file"));
    }
}

TEST(Hostile, TriggersAndViewsOfAFileDoNothing) {
    const TempFolder folder;
    write_main(folder / "run.db");
    RunBuilder(folder / "run.db")
        .execute(
            "CREATE TRIGGER t AFTER INSERT ON interval BEGIN DELETE FROM run; END;"
            "DROP VIEW v_process;"
            "CREATE VIEW v_process AS SELECT load_extension('evil') AS run;"
            "CREATE VIEW v_mine AS SELECT writefile('evil', 'x')");
    EXPECT_EQ(load_run(folder / "run.db").processes.size(), 1U);
    // this version's view answers, not the file's
    const auto result = run_query(folder / "run.db", "", "SELECT role FROM v_process");
    ASSERT_EQ(result.rows.size(), 1U);
    EXPECT_EQ(std::get<std::string>(result.rows[0][0]), "main");
    EXPECT_THROW(run_query(folder / "run.db", "", "SELECT * FROM v_mine"),
                 analyzer::Error);
}

TEST(Hostile, AnIndexThatLiesAboutItsTableIsNotUsed) {
    const TempFolder folder;
    write_main(folder / "run.db");
    RunBuilder(folder / "run.db")
        .execute(
            "CREATE INDEX lie ON interval (track_id, stage_id, start_ns, dur_ns, depth,"
            " step, iterator_id, batch, cpu_ns) WHERE start_ns > 100000");
    EXPECT_EQ(load_run(folder / "run.db").processes.at(0).tracks.at(0).intervals.size(),
              6U);
}

TEST(Hostile, HugeTextsAreCutAndHugerOnesRefused) {
    const TempFolder folder;
    write_main(folder / "run.db");
    RunBuilder(folder / "run.db")
        .execute("UPDATE run SET command = replace(hex(zeroblob(500000)), '0', 'é')");
    // 64 KiB, and not in the middle of a character
    EXPECT_EQ(load_run(folder / "run.db").command.size(), 64U * 1024U);
    RunBuilder(folder / "run.db")
        .execute("UPDATE run SET command = hex(zeroblob(20000000))");
    EXPECT_NE(error_of(folder / "run.db"), "no error");
}

TEST(Hostile, IdsMayBeAnything) {
    const TempFolder folder;
    write_main(folder / "run.db");
    RunBuilder(folder / "run.db")
        .execute(
            "UPDATE track SET id = 9223372036854775807;"
            "UPDATE interval SET track_id = 9223372036854775807;"
            "UPDATE interval SET id = -9223372036854775807 WHERE id = 1;"
            "UPDATE interval SET id = 9223372036854775807 WHERE id = 6;"
            "UPDATE stage SET id = -id; UPDATE interval SET stage_id = -stage_id;"
            "UPDATE process SET dropped_count = 9223372036854775807;"
            "UPDATE clock SET unix_ns = 9223372036854775807, monotonic_ns = -5;"
            "UPDATE loader SET num_workers = 9223372036854775807;");
    const auto run = load_run(folder / "run.db");
    EXPECT_EQ(run.processes.at(0).tracks.at(0).intervals.size(), 6U);
    EXPECT_EQ(run.processes[0].clock_offset_ns, 0);
}

TEST(Hostile, RowsOfOtherTypesThanTheirColumnsDoNoHarm) {
    const TempFolder folder;
    write_main(folder / "run.db");
    RunBuilder(folder / "run.db")
        .execute(
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '')"
            " WHERE name IN ('interval', 'process', 'counter');"
            "PRAGMA writable_schema = RESET;");
    RunBuilder(folder / "run.db")
        .execute(
            "UPDATE interval SET start_ns = 'soon' WHERE id = 1;"
            "UPDATE interval SET dur_ns = x'00' WHERE id = 2;"
            "UPDATE interval SET batch = 1e300, step = 'x' WHERE id = 3");
    EXPECT_EQ(load_run(folder / "run.db").processes.at(0).tracks.at(0).intervals.size(),
              6U);
}

}  // namespace
}  // namespace metatrain_timing::test
