#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/error.hpp"
#include "analyzer/load/query.hpp"
#include "analyzer/render/query_report.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

using analyzer::run_query;
using testing::HasSubstr;

// The answer as CSV without its title line.
std::string answer(const std::string& path, const std::string& sql,
                   const std::string& run = "") {
    const std::string csv =
        analyzer::query_table(run_query(path, run, sql), "NULL").csv();
    return csv.substr(csv.find('\n') + 1);
}

std::string error_of(const std::string& path, const std::string& sql) {
    try {
        run_query(path, "", sql);
    } catch (const analyzer::Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Query, AnswersForAllFilesOfARun) {
    const TempFolder folder;
    write_training(folder / "run.db");
    EXPECT_EQ(answer(folder / "run.db",
                     "SELECT role, phase, stage, calls, total_ns FROM v_stage_summary"
                     " ORDER BY role, stage"),
              "main,train,loader,2,20\n"
              "main,train,optimizer,2,20\n"
              "main,train,step,2,60\n"
              "worker,train,collate,2,40\n"
              "worker,train,fetch,2,80\n");
    EXPECT_EQ(answer(folder / "run.db",
                     "SELECT batch, worker, started_ns, fetched_ns, delivered_ns FROM"
                     " v_batch ORDER BY batch"),
              "0,0,20,60,110\n1,1,30,70,150\n");
}

TEST(Query, ReadsTheNewestRunUnlessOneOrAllAreNamed) {
    const TempFolder folder;
    write_training(folder / "run.db");
    {
        RunBuilder file(folder / "run.db");
        file.process(file.run("run-2", 9'000'000'000), {.uuid = "later"});
    }
    const std::string count = "SELECT count(*) FROM v_process";
    EXPECT_EQ(answer(folder / "run.db", count), "1\n");
    EXPECT_EQ(answer(folder / "run.db", count, "1"), "3\n");
    EXPECT_EQ(answer(folder / "run.db@1", count), "3\n");
    EXPECT_EQ(answer(folder / "run.db", count, "all"), "4\n");
    std::filesystem::remove_all(folder / "run.db.d");
    EXPECT_EQ(answer(folder / "run.db", count), "1\n");
    EXPECT_EQ(answer(folder / "run.db", count, "all"), "2\n");
}

TEST(Query, WarnsOfWorkerFilesThatAreNotThere) {
    const TempFolder folder;
    write_training(folder / "run.db");
    std::filesystem::remove(folder / "run.db.d/rank0-w01.db");
    const auto warnings = run_query(folder / "run.db", "", "SELECT 1").warnings;
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0].text, HasSubstr("1 worker file not found"));
    std::filesystem::remove(folder / "run.db.d/rank0-w00.db");
    EXPECT_THAT(run_query(folder / "run.db", "", "SELECT 1").warnings.at(0).text,
                HasSubstr("2 worker files not found"));
}

TEST(Query, MedianAndPercentileInterpolateAsNumpyDoes) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const std::string values =
        "SELECT %s FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 4"
        " UNION ALL SELECT 10 UNION ALL SELECT NULL UNION ALL SELECT 'word')";
    const auto of = [&](const std::string& what) {
        std::string sql = values;
        return answer(folder / "run.db", sql.replace(sql.find("%s"), 2, what));
    };
    EXPECT_EQ(of("median(x)"), "3\n");
    EXPECT_EQ(of("percentile(x, 0), percentile(x, 25), percentile(x, 75),"
                 " percentile(x, 100)"),
              "1,1.75,5.5,10\n");
    EXPECT_EQ(answer(folder / "run.db", "SELECT median(1) WHERE 0"), "NULL\n");
    EXPECT_THAT(error_of(folder / "run.db", "SELECT percentile(1, 101)"),
                HasSubstr("p is from 0 to 100"));
}

TEST(Query, CanReadAndNothingElse) {
    const TempFolder folder;
    write_training(folder / "run.db");
    for (const std::string sql :
         {"DELETE FROM run", "UPDATE run SET uuid = 'x'", "DROP TABLE run",
          "CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "ATTACH 'evil.db' AS evil",
          "DETACH main", "PRAGMA writable_schema = ON", "PRAGMA user_version = 5",
          "PRAGMA journal_mode = WAL", "VACUUM", "VACUUM INTO 'evil.db'", "BEGIN",
          "SELECT load_extension('evil')",
          "INSERT INTO run DEFAULT VALUES RETURNING id", "REINDEX", "ANALYZE"}) {
        EXPECT_THAT(
            error_of(folder / "run.db", sql),
            testing::AnyOf(HasSubstr("only reading is allowed"),
                           HasSubstr("no such function"), HasSubstr("not authorized")))
            << sql;
        EXPECT_THROW(run_query(folder / "run.db.d/rank0-w00.db", "", sql),
                     analyzer::Error)
            << sql;
    }
    EXPECT_FALSE(std::filesystem::exists("evil.db"));
    for (const std::string sql :
         {"PRAGMA table_info(interval)", "SELECT name FROM pragma_table_info('run')",
          "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)"
          " SELECT * FROM n",
          "EXPLAIN QUERY PLAN SELECT * FROM interval", "VALUES (1), (2)",
          "SELECT name FROM sqlite_schema", "SELECT 1; -- done\n"}) {
        EXPECT_EQ(error_of(folder / "run.db", sql), "no error") << sql;
    }
}

TEST(Query, SaysWhatIsWrongWithAQuery) {
    const TempFolder folder;
    write_main(folder / "run.db");
    EXPECT_THAT(error_of(folder / "run.db", "SELECT nix FROM run"),
                HasSubstr("no such column: nix; docs/schema.md"));
    EXPECT_THAT(error_of(folder / "run.db", "SELECT 1; SELECT 2"),
                HasSubstr("one query at a time"));
    EXPECT_THAT(error_of(folder / "run.db", "SELECT 1; garbage"),
                HasSubstr("one query at a time"));
    EXPECT_THAT(error_of(folder / "run.db", "  -- nothing"), HasSubstr("empty"));
}

TEST(Query, JsonHoldsNoNanAndNothingBinary) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const auto json = analyzer::query_json(run_query(
        folder / "run.db", "", "SELECT 1 AS a, 1e999, x'00ff', NULL, 'é', 0.5"));
    EXPECT_EQ(json["schema"], "mt.sql/1");
    EXPECT_EQ(json["columns"][0], "a");
    EXPECT_EQ(json["rows"].dump(), "[[1,null,\"00ff\",null,\"é\",0.5]]");
}

}  // namespace
}  // namespace metatrain_timing::test
