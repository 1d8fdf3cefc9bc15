#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <metatrain_timing/schema/sql.hpp>

#include "tests/support/query.hpp"

// Every view over one small run whose numbers are worked out by hand.
//
//     main     put_index 1010-1020   loader 1100-1200 (receive 1180-1190)   step
//     1200-1500 worker        fetch 1030-1150 = dataset 50 + collate 70   send
//     1155-1165
//
// is batch 0 of the training pass; of batch 1 there is the wait alone. A validation
// pass ran before (it fitted a baseline) and after.
namespace metatrain_timing {
namespace {

using Rows = std::vector<std::string>;

constexpr const char* kRun = R"sql(
INSERT INTO run VALUES (1, 'run-a', 'job-a', 2, 5000, 'mtt train', '/home', 'node1');
INSERT INTO process (id, run_id, uuid, parent_uuid, role, rank, world_size, worker_id,
                     loader_id, pid, start_method, host, boot_id, started_ns, ended_ns,
                     ending, dropped_count) VALUES
    (1, 1, 'p1', NULL, 'main', 0, 1, NULL, NULL, 11, NULL, 'node1', 'b', 500, 4000,
     'clean', 3),
    (2, 1, 'p2', 'p1', 'worker', 0, 1, 0, NULL, 12, 'fork', 'node1', 'b', 1005, NULL,
     'unknown', 0);
INSERT INTO clock (process_id, monotonic_ns, unix_ns) VALUES
    (1, 1000, 9000), (1, 2000, 10500), (2, 1000, 9001);
INSERT INTO loader (id, process_id, number, name) VALUES
    (1, 1, 1, 'train'), (2, 1, 2, 'validation'), (3, 2, 1, 'train');
UPDATE process SET loader_id = 3 WHERE id = 2;
INSERT INTO iterator (id, loader_id, number, epoch, phase, started_ns, first_wait_ns,
                      ended_ns, exhausted) VALUES
    (1, 2, 1, 0, 'evaluation', 800, 900, 950, 1),
    (2, 1, 2, 0, 'train', 1000, 1100, NULL, 0),
    (3, 2, 3, 1, 'evaluation', 2900, 3000, 3100, 1),
    (4, 1, 4, 1, NULL, 3200, NULL, NULL, 0),
    (5, 3, 2, 0, NULL, 1000, NULL, NULL, 0),
    (6, 1, 5, 2, 'tuning', 3300, 3400, NULL, 0);
INSERT INTO stage VALUES (1, 'loader'), (2, 'step'), (3, 'forward'), (4, 'backward'),
    (5, 'optimizer'), (6, 'put_index'), (7, 'receive'), (8, 'fetch'), (9, 'dataset'),
    (10, 'collate'), (11, 'send'), (12, 'phase/setup');
INSERT INTO track (id, process_id, tid, name, kind)
VALUES (1, 1, 11, 'MainThread', 'cpu'), (2, 2, 12, 'MainThread', 'cpu'),
    (3, 2, 13, 'QueueFeederThread', 'cpu');
INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id,
                      batch, cpu_ns) VALUES
    (1, 12, 600, 100, 0, NULL, NULL, NULL, 90),
    (1, 6, 1010, 10, 0, 0, 2, 0, NULL),
    (2, 9, 1030, 50, 1, NULL, 2, 0, NULL),
    (2, 10, 1080, 70, 1, NULL, 2, 0, NULL),
    (2, 8, 1030, 120, 0, NULL, 2, 0, NULL),
    (3, 11, 1155, 10, 0, NULL, 2, 0, NULL),
    (1, 7, 1180, 10, 1, 0, 2, 0, NULL),
    (1, 1, 1100, 100, 0, 0, 2, 0, NULL),
    (1, 3, 1210, 100, 1, 0, 2, 0, NULL),
    (1, 4, 1320, 100, 1, 0, 2, 0, NULL),
    (1, 5, 1430, 50, 1, 0, 2, 0, NULL),
    (1, 2, 1200, 300, 0, 0, 2, 0, NULL),
    (1, 1, 1500, 10, 0, 1, 2, 1, NULL),
    (1, 1, 3000, 20, 0, 1, 3, 0, NULL),
    (1, 3, 3020, 30, 1, 1, 3, 0, NULL),
    (1, 2, 3020, 40, 0, 1, 3, 0, NULL);
INSERT INTO counter_name VALUES (1, 'atoms');
INSERT INTO counter (track_id, name_id, at_ns, value, step, iterator_id, batch) VALUES
    (2, 1, 1100, 30, NULL, 2, 0), (2, 1, 1600, 11, NULL, 2, 1), (1, 1, 700, 5, NULL, NULL,
    NULL);
)sql";

class ViewTest : public testing::Test {
  protected:
    ViewTest() : database_(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
        for (const schema::NamedSql& migration : schema::migrations()) {
            database_.exec(std::string(migration.sql));
        }
        for (const schema::NamedSql& view : schema::views()) {
            database_.exec(std::string(view.sql));
        }
        database_.exec("PRAGMA foreign_keys = ON");
        database_.exec(kRun);
    }

    Rows query(const std::string& sql) const { return test::query(database_, sql); }

    SQLite::Database database_;
};

TEST_F(ViewTest, TheFirstSnapshotOfAProcessTiesItsClocks) {
    EXPECT_EQ(query("SELECT * FROM _clock_offset ORDER BY 1"),
              (Rows{"1|8000", "2|8001"}));
}

TEST_F(ViewTest, PassesHaveThePhaseThatReportsShow) {
    EXPECT_EQ(
        query("SELECT iterator_id, loader, epoch, phase FROM _iterator ORDER BY 1"),
        (Rows{"1|validation|0|before-training", "2|train|0|train",
              "3|validation|1|evaluation", "4|train|1|unused", "5|train|0|unknown",
              "6|train|2|tuning"}));
}

TEST_F(ViewTest, ProcessesShowTheirLives) {
    EXPECT_EQ(query("SELECT * FROM v_process ORDER BY 1"),
              (Rows{"1|run-a|2|main|0|NULL|NULL|11|NULL|node1|8500|3500|clean|3",
                    "2|run-a|2|worker|0|0|train|12|fork|node1|9006|NULL|unknown|0"}));
}

TEST_F(ViewTest, IntervalsShowTheirNames) {
    EXPECT_EQ(
        query("SELECT * FROM v_interval WHERE stage IN ('phase/setup', 'collate') "
              "ORDER BY 1"),
        (Rows{"1|run-a|main|0|NULL|11|MainThread|phase/setup|600|8600|100|90|0|"
              "NULL|NULL|NULL|NULL|NULL|NULL",
              "4|run-a|worker|0|0|12|MainThread|collate|1080|9081|70|NULL|1|train|"
              "train|0|NULL|2|0"}));
    EXPECT_EQ(query("SELECT count(*) FROM v_interval"), Rows{"16"});
}

TEST_F(ViewTest, StagesAreSummedPerPhaseLoaderAndRole) {
    EXPECT_EQ(
        query("SELECT * FROM v_stage_summary WHERE stage IN ('loader', 'forward') "
              "ORDER BY phase, stage"),
        (Rows{"run-a|evaluation|validation|0|main|forward|1|30|30.0|30|30|NULL",
              "run-a|evaluation|validation|0|main|loader|1|20|20.0|20|20|NULL",
              "run-a|train|train|0|main|forward|1|100|100.0|100|100|NULL",
              "run-a|train|train|0|main|loader|2|110|55.0|10|100|NULL"}));
    EXPECT_EQ(query("SELECT phase, role, cpu_ns FROM v_stage_summary "
                    "WHERE stage = 'phase/setup'"),
              Rows{"NULL|main|90"});
}

TEST_F(ViewTest, ATurnIsAWaitAndItsBody) {
    EXPECT_EQ(
        query("SELECT * FROM v_step ORDER BY iterator_id, batch"),
        (Rows{"run-a|0|train|train|0|2|0|0|1100|100|300|NULL|NULL|100|NULL|100|50|50",
              "run-a|0|train|train|0|2|1|1|1500|10|NULL|NULL|NULL|NULL|NULL|NULL|"
              "NULL|NULL",
              "run-a|0|evaluation|validation|1|3|0|1|3000|20|40|NULL|NULL|30|NULL|"
              "NULL|NULL|10"}));
}

TEST_F(ViewTest, ABatchIsFollowedFromItsIndexToTheLoop) {
    EXPECT_EQ(
        query("SELECT * FROM v_batch ORDER BY iterator_id, batch"),
        (Rows{
            "run-a|0|train|train|0|2|0|0|1020|1030|1080|1150|1155|1165|1180|1190|NULL|"
            "1100|1200|100|1500",
            "run-a|0|train|train|0|2|1|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|"
            "NULL|1500|1510|10|NULL",
            "run-a|0|evaluation|validation|1|3|0|NULL|NULL|NULL|NULL|NULL|NULL|NULL|"
            "NULL|"
            "NULL|NULL|3000|3020|20|3060"}));
}

TEST_F(ViewTest, AWaitIsCutByWhatItsBatchWentThrough) {
    // 1100-1150 fetch, -1165 send, -1200 on its way: 50 + 15 + 35 of 100.
    EXPECT_EQ(query("SELECT * FROM v_loader_wait ORDER BY iterator_id, batch"),
              (Rows{"run-a|0|train|train|0|2|0|0|1100|100|0|0|50|15|35|0",
                    "run-a|0|train|train|0|2|1|NULL|1500|10|0|0|0|0|0|10",
                    "run-a|0|evaluation|validation|1|3|0|NULL|3000|20|0|0|0|0|0|20"}));
}

TEST_F(ViewTest, AWaitThatBeganBeforeTheFetchHasAnotherPart) {
    database_.exec(
        "UPDATE interval SET start_ns = 1000, dur_ns = 200 "
        "WHERE stage_id = 1 AND iterator_id = 2 AND batch = 0");
    const std::string parts =
        "SELECT wait_ns, in_earlier_ns, in_idle_ns, in_fetch_ns, in_send_ns, "
        "in_receive_ns, other_ns FROM v_loader_wait WHERE iterator_id = 2 AND batch = ";
    EXPECT_EQ(query(parts + "0"), Rows{"200|0|30|120|15|35|0"});

    // The same worker was at the next one from 1160 to 1505, while it was waited for
    // from 1100 on, and was idle for 10 ns before; it was
    // not recorded as sent.
    database_.exec(
        "UPDATE interval SET start_ns = 1100, dur_ns = 410 "
        "WHERE stage_id = 1 AND iterator_id = 2 AND batch = 1;"
        "INSERT INTO interval (track_id, stage_id, start_ns, dur_ns, depth, "
        "iterator_id,"
        " batch) SELECT track_id, stage_id, 1160, 345, 0, iterator_id, 1 FROM interval"
        " WHERE stage_id = (SELECT id FROM stage WHERE name = 'fetch') AND batch = 0");
    EXPECT_EQ(query(parts + "1"), Rows{"410|50|10|345|0|0|5"});
}

TEST_F(ViewTest, ARateIsATotalOverATotal) {
    // 41 atoms in 100 + 10 waiting and 300 of body.
    EXPECT_EQ(query("SELECT * FROM v_counter_rate ORDER BY phase"),
              (Rows{"run-a|NULL|NULL|0|atoms|5.0|NULL|NULL",
                    "run-a|train|train|0|atoms|41.0|410|100000000.0"}));
}

TEST_F(ViewTest, AnEmptyFileHasEmptyViews) {
    database_.exec(
        "PRAGMA foreign_keys = OFF; DELETE FROM counter; DELETE FROM interval; "
        "DELETE FROM iterator; DELETE FROM process; DELETE FROM run");
    for (const schema::NamedSql& view : schema::views()) {
        if (view.name.starts_with("v_")) {
            EXPECT_EQ(query("SELECT count(*) FROM " + std::string(view.name)),
                      Rows{"0"})
                << view.name;
        }
    }
}

TEST_F(ViewTest, EveryStatementIsValid) {
    for (const schema::NamedSql& statement : schema::detail::kStatements) {
        EXPECT_NO_THROW(SQLite::Statement(database_, std::string(statement.sql)))
            << statement.name;
    }
}

TEST_F(ViewTest, VersionAndMarkAreThoseOfTheConstants) {
    EXPECT_EQ(query("PRAGMA application_id"),
              Rows{std::to_string(schema::kApplicationId)});
    EXPECT_EQ(query("PRAGMA user_version"), Rows{std::to_string(schema::kUserVersion)});
    EXPECT_EQ(query("SELECT value FROM meta WHERE key = 'schema_version'"),
              Rows{std::string(schema::kVersion)});
    // The four letters are what `file` shows of a database: 'MTIM'.
    EXPECT_EQ(schema::kApplicationId, ('M' << 24) + ('T' << 16) + ('I' << 8) + 'M');
}

}  // namespace
}  // namespace metatrain_timing
