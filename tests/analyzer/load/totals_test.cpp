#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <metatrain_timing/analyzer/analyzer.hpp>
#include <string>

#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::RunBuilder;
using test::TempFolder;
using test::write_main;
using testing::IsEmpty;
using testing::SizeIs;

// Rows of `interval_total` in the file of `write_main()`: track 1, pass 1.
void add_total(RunBuilder& file, int id, const char* parent, const char* stage,
               const char* sums) {
    file.stage(stage);
    file.execute(
        "INSERT INTO interval_total (id, track_id, parent_id, stage_id,"
        " iterator_id, calls, total_ns, cpu_ns, cpu_wall_ns, first_ns, last_ns)"
        " SELECT " +
        std::to_string(id) + ", 1, " + parent + ", id, 1, " + sums +
        " FROM stage WHERE name = '" + stage + "'");
}

class LoadTotals : public testing::Test {
  protected:
    LoadTotals() { write_main(folder_ / "run.db"); }

    Track main_track() {
        run_ = load_run(folder_ / "run.db");
        return run_.processes.at(0).tracks.at(0);
    }

    std::string name_of(const IntervalTotal& total) const {
        return run_.stages.at(total.stage);
    }

    std::string skipped() const {
        std::string codes;
        for (const Warning& warning : run_.warnings) {
            if (warning.code.starts_with("rows_")) {
                codes += warning.code + ": " + warning.text.substr(0, 5) + ";";
            }
        }
        return codes;
    }

    TempFolder folder_;
    analyzer::Run run_;
};

TEST_F(LoadTotals, RowsOfTheSameNodeAreOne) {
    {
        RunBuilder file(folder_ / "run.db");
        add_total(file, 5, "NULL", "step", "2, 80, NULL, 0, 500, 600");
        add_total(file, 6, "5", "optimizer", "2, 30, 25, 30, 520, 590");
        add_total(file, 8, "NULL", "step", "1, 40, NULL, 0, 300, 340");
        add_total(file, 9, "8", "optimizer", "1, 15, NULL, 0, 310, 330");
    }
    const Track track = main_track();

    ASSERT_THAT(track.totals, SizeIs(2));
    const IntervalTotal& step = track.totals[0];
    EXPECT_EQ(name_of(step), "step");
    EXPECT_EQ(step.parent, -1);
    EXPECT_EQ(step.iterator, 0);
    EXPECT_EQ(step.calls, 3);
    EXPECT_EQ(step.total_ns, 120);
    EXPECT_EQ(step.cpu_ns, -1);
    EXPECT_EQ(step.first_ns, 300);
    EXPECT_EQ(step.last_ns, 600);
    const IntervalTotal& optimizer = track.totals[1];
    EXPECT_EQ(name_of(optimizer), "optimizer");
    EXPECT_EQ(optimizer.parent, 0);
    EXPECT_EQ(optimizer.calls, 3);
    EXPECT_EQ(optimizer.total_ns, 45);
    EXPECT_EQ(optimizer.cpu_ns, 25);
    EXPECT_EQ(optimizer.cpu_wall_ns, 30);
    EXPECT_EQ(skipped(), "");
}

TEST_F(LoadTotals, ANodeOfWhichOnlyPartsAreLeftOutHasNoTimes) {
    {
        RunBuilder file(folder_ / "run.db");
        add_total(file, 5, "NULL", "step", "0, 0, NULL, 0, NULL, NULL");
        add_total(file, 6, "5", "optimizer", "2, 30, NULL, 0, 520, 590");
        add_total(file, 7, "NULL", "step", "1, 40, NULL, 0, 700, 740");
    }
    const Track track = main_track();
    ASSERT_THAT(track.totals, SizeIs(2));
    EXPECT_EQ(track.totals[0].calls, 1);
    EXPECT_EQ(track.totals[0].first_ns, 700);
    EXPECT_EQ(track.totals[0].last_ns, 740);
}

TEST_F(LoadTotals, WhatCannotBeIsSkipped) {
    {
        RunBuilder file(folder_ / "run.db");
        add_total(file, 5, "NULL", "step", "-1, 80, NULL, 0, 500, 600");
        add_total(file, 6, "NULL", "step", "1, -80, NULL, 0, 500, 600");
        add_total(file, 7, "NULL", "step", "1, 80, NULL, 0, 600, 500");
        add_total(file, 8, "NULL", "step", "1, 80, NULL, 0, -9e18, 9e18");
        add_total(file, 9, "NULL", "step", "1, 9000000000000000000, NULL, 0, 1, 2");
    }
    EXPECT_THAT(main_track().totals, IsEmpty());
    EXPECT_EQ(skipped(), "rows_impossible: 5 row;");
}

TEST_F(LoadTotals, APartComesAfterWhatEnclosesIt) {
    {
        RunBuilder file(folder_ / "run.db");
        file.execute("PRAGMA foreign_keys = OFF");
        add_total(file, 5, "6", "optimizer", "1, 10, NULL, 0, 1, 11");  // a cycle
        add_total(file, 6, "5", "step", "1, 10, NULL, 0, 1, 11");
        add_total(file, 7, "77", "step", "1, 10, NULL, 0, 1, 11");
    }
    EXPECT_THAT(main_track().totals, IsEmpty());
    EXPECT_EQ(skipped(), "rows_skipped: 3 row;");
}

TEST_F(LoadTotals, SumsOfACounterAreOne) {
    {
        RunBuilder file(folder_ / "run.db");
        file.execute(
            "INSERT INTO counter_name VALUES (1, 'atoms'), (2, 'bad');"
            "INSERT INTO counter_total (id, track_id, name_id, iterator_id, calls,"
            "  value) VALUES (1, 1, 1, 1, 2, 7.5),"
            " (2, 1, 1, 1, 1, 2.5), (3, 1, 2, 1, 1, 9e999)");
    }
    const Track track = main_track();
    ASSERT_THAT(track.counter_totals, SizeIs(1));
    EXPECT_EQ(track.counter_totals[0].value, 10);
    EXPECT_EQ(track.counter_totals[0].iterator, 0);
    EXPECT_EQ(skipped(), "rows_impossible: 1 row;");
}

}  // namespace
}  // namespace metatrain_timing::analyzer
