#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/analyzer/load/training_files.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// One line that begins with the program's name.
testing::Matcher<const std::string&> one_line(const std::string& part) {
    return AllOf(StartsWith("mt-analyze: "), HasSubstr(part), EndsWith("\n"),
                 testing::ResultOf(
                     [](const std::string& text) {
                         return std::count(text.begin(), text.end(), '\n');
                     },
                     1));
}

TEST(MtAnalyze, RunsListsTheRunsOfAFile) {
    const TempFolder folder;
    write_training(folder / "run.db");
    {
        RunBuilder file(folder / "run.db");
        file.process(file.run("0123456789abcdef", 1'700'000'000'000'000'000, 2),
                     {.uuid = "later"});
    }
    const Outcome outcome = mt_analyze({"runs", folder / "run.db"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_EQ(
        outcome.out,
        "run  started              attempt  ranks  steps  ended    uuid      host\n"
        "------------------------------------------------------------------------\n"
        "  1  1970-01-01 00:00:01        1      1      2  clean    run-1     host\n"
        " *2  2023-11-14 22:13:20        2      1      0  unknown  01234567  host\n"
        "*: the newest, which other commands read unless --run names another\n");

    const json runs = json::parse(
        mt_analyze({"runs", folder / "run.db", "--format", "json"}).out)["runs"];
    EXPECT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[1], json({{"index", 2},
                             {"uuid", "0123456789abcdef"},
                             {"attempt", 2},
                             {"started_unix", 1'700'000'000.0},
                             {"command", "python train.py"},
                             {"host", "host"},
                             {"rank_count", 1},
                             {"steps", 0},
                             {"ended", "unknown"},
                             {"newest", true}}));
}

TEST(MtAnalyze, SqlWritesEveryFormat) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const std::string query = "SELECT 'a,b' AS name, 7 AS n, NULL AS nix";
    const auto written = [&](const std::string& format) {
        const Outcome outcome =
            mt_analyze({"sql", folder / "run.db", query, "--format", format});
        EXPECT_EQ(outcome.exit_code, 0);
        return outcome.out;
    };
    EXPECT_EQ(written("text"),
              "name  n  nix\n"
              "-------------\n"
              "a,b   7  NULL\n");
    EXPECT_EQ(written("csv"), "name,n,nix\n\"a,b\",7,\n");
    EXPECT_EQ(written("tsv"), "name\tn\tnix\na,b\t7\t\n");
    EXPECT_EQ(written("markdown"),
              "| name | n | nix |\n| --- | ---: | --- |\n| a,b | 7 | NULL |\n");
    EXPECT_EQ(json::parse(written("json"))["rows"],
              json::parse(R"([["a,b", 7, null]])"));
}

TEST(MtAnalyze, SqlTakesTheQueryFromStandardInput) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const Outcome outcome =
        mt_analyze({"sql", folder / "run.db", "-", "--format", "csv"},
                   {.input = "SELECT count(*) AS n\nFROM interval;\n"});
    EXPECT_EQ(outcome.out, "n\n6\n");
}

TEST(MtAnalyze, MergeMakesOneFile) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const std::string all = folder / "all.db";
    const Outcome outcome = mt_analyze({"merge", folder / "run.db", "-o", all});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, all + ": 1 run of 3 files\n");
    EXPECT_THAT(outcome.err, IsEmpty());
    const Outcome again = mt_analyze({"merge", folder / "run.db", "-o", all});
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_THAT(again.err, one_line("exists and is not overwritten"));
    EXPECT_EQ(mt_analyze({"merge", folder / "run.db", "--in-place"}).out,
              (folder / "run.db").string() + ": 1 run of 3 files\n");
    EXPECT_FALSE(std::filesystem::exists(folder / "run.db.d"));
}

TEST(MtAnalyze, WrongCommandLinesEndWithTwo) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const std::string path = folder / "run.db";
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{
             {},
             {"nonsense"},
             {"runs"},
             {"runs", path, "--format", "xml"},
             {"sql", path},
             {"sql", path, ""},
             {"merge", path},
             {"merge", path, "-o", "x", "--in-place"},
             {"merge", path, "--in-place", "--run", "1"},
             {"report", path + "@1", "--run", "1"}}) {
        const Outcome outcome = mt_analyze(arguments);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_THAT(outcome.err, one_line("error: "));
        EXPECT_THAT(outcome.out, IsEmpty());
    }
}

TEST(MtAnalyze, WhatCannotBeReadEndsWithOneAndOneLine) {
    const TempFolder folder;
    const std::string missing = folder / "missing.db";
    std::ofstream(folder / "text.db") << "words";
    RunBuilder(folder / "newer.db").execute("PRAGMA user_version = 90000");
    for (const std::string& command : std::vector<std::string>{"report", "runs"}) {
        const Outcome none = mt_analyze({command, missing});
        EXPECT_EQ(none.exit_code, 1);
        EXPECT_THAT(none.err, one_line("error: " + missing + ": no such file"));
        EXPECT_THAT(none.out, IsEmpty());
        const Outcome text = mt_analyze({command, folder / "text.db"});
        EXPECT_EQ(text.exit_code, 1);
        EXPECT_THAT(text.err, one_line(": not a database"));
        const Outcome newer = mt_analyze({command, folder / "newer.db"});
        EXPECT_EQ(newer.exit_code, 1);
        EXPECT_THAT(newer.err,
                    one_line(": schema 9.0.0 is newer than this version reads (1.0.0);"
                             " update mt-analyze"));
    }
}

TEST(MtAnalyze, WarningsGoToStandardErrorAndIntoJson) {
    const TempFolder folder;
    write_training(folder / "run.db");
    std::ofstream(folder / "run.db.d/notes.txt") << "words";
    const Outcome outcome = mt_analyze({"runs", folder / "run.db", "--format", "json"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, one_line("notes.txt: not read: not a database"));
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result["warnings"][0]["code"], "file_skipped");
    EXPECT_EQ(result["files"][1], json({{"path", folder / "run.db.d/notes.txt"},
                                        {"read", false},
                                        {"reason", "not a database"}}));
}

TEST(MtAnalyze, HelpBeginsWithExamplesAndNamesEveryCommand) {
    const Outcome help = mt_analyze({"--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, StartsWith("Examples:\n  mt-analyze report run.db "));
    for (const char* command : {"report", "runs", "merge", "sql"}) {
        EXPECT_THAT(help.out, HasSubstr(std::string("\n  ") + command + " "));
        EXPECT_EQ(mt_analyze({command, "--help"}).exit_code, 0);
    }
    const Outcome version = mt_analyze({"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.out,
                AllOf(StartsWith("mt-analyze "), HasSubstr("(schema 1.0.0)")));
}

TEST(MtAnalyze, NothingFromAFileReachesTheTerminalUnescaped) {
    const TempFolder folder;
    const std::string evil = "\x1b]0;owned\x07\xe2\x80\xae\xff\n";
    {
        RunBuilder file(folder / "run\x1b[2J.db");
        const Id process = file.process(file.run(evil));
        file.health(process, "code", evil);
        const Id track = file.track(process, evil);
        const Id loader = file.loader({.process = process, .name = evil});
        const Id pass = file.iterator(
            {.loader = loader, .phase = evil, .first_wait_ns = 0, .ended_ns = 100});
        file.interval(track, "loader", 0, 10,
                      {.iterator = pass, .batch = 0, .step = 0});
        file.interval(track, evil, 12, 10,
                      {.depth = 1, .iterator = pass, .batch = 0, .step = 0});
        file.interval(track, "step", 10, 20, {.iterator = pass, .batch = 0, .step = 0});
    }
    const std::string path = folder / "run\x1b[2J.db";
    const auto clean = testing::ResultOf(
        [](const std::string& text) {
            return text.find_first_of("\x1b\x07\xff") == std::string::npos &&
                   text.find("\xe2\x80\xae") == std::string::npos;
        },
        true);
    for (const std::string format : {"text", "csv", "markdown"}) {
        for (const std::vector<std::string>& arguments :
             std::vector<std::vector<std::string>>{
                 {"report", path, "--format", format},
                 {"runs", path, "--format", format},
                 {"sql", path, "SELECT * FROM run, v_interval", "--format", format},
                 {"sql", path, "SELECT x'1b' AS \"\x1b\", char(27)", "--format",
                  format},
                 {"sql", path, "SELECT \x1b"}}) {
            const Outcome outcome = mt_analyze(arguments);
            EXPECT_THAT(outcome.out, clean) << format;
            EXPECT_THAT(outcome.err, clean) << format;
        }
    }
    const Outcome outcome = mt_analyze({"report", path, "--format", "json"});
    EXPECT_FALSE(json::parse(outcome.out, nullptr, false).is_discarded())
        << outcome.err;
}

TEST(MtAnalyze, ALocaleThatIsNotUtf8GetsAscii) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const std::vector<std::string> arguments{"sql", folder / "run.db",
                                             "SELECT 'é' AS x"};
    EXPECT_EQ(mt_analyze(arguments).out, "x\n-\né\n");
    EXPECT_EQ(mt_analyze(arguments, {.environment = {{"LC_ALL", "C"}}}).out,
              "x\n------\n\\u00e9\n");
}

TEST(MtAnalyze, AFullDiskIsAnError) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const Outcome outcome =
        mt_analyze({"runs", folder / "run.db"}, {.out_path = "/dev/full"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, one_line("could not be written"));
}

}  // namespace
}  // namespace metatrain_timing::test
