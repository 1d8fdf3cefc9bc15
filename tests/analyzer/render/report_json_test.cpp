#include "analyzer/render/report_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/analyzer/render/training_scene.hpp"

namespace metatrain_timing::analyzer {
namespace {

Json scene_json() {
    const auto run = test::TrainingScene().build();
    return report_json(make_report(Findings(run)));
}

Json stage(const Json& phase, const char* name, const Json& parent, const char* where) {
    for (const Json& row : phase["stages"]) {
        if (row["stage"] == name && row["parent"] == parent && row["where"] == where) {
            return row;
        }
    }
    return nullptr;
}

double sum(const Json& list, const char* key) {
    double total = 0;
    for (const Json& entry : list) {
        total += entry[key].get<double>();
    }
    return total;
}

TEST(ReportJson, TimesAreInSecondsAndSharesFromZeroToOne) {
    const Json report = scene_json();
    const Json& train = report["phases"][0];
    EXPECT_EQ(report["schema"], "mt.report/1");
    EXPECT_EQ(train["name"], "train");
    EXPECT_EQ(train["steps"], 50);
    EXPECT_EQ(train["epochs"], 2);
    EXPECT_EQ(train["steady_from_step"], 1);
    EXPECT_NEAR(train["wall_s"].get<double>(), 5.664, 1e-12);
    EXPECT_NEAR(train["exposed_wait_s"].get<double>(), 0.984, 1e-12);
    EXPECT_NEAR(train["step_s"]["median"].get<double>(), 0.1, 1e-12);
    const Json backward = stage(train, "backward", "step", "main");
    EXPECT_EQ(backward["calls"], 50);
    EXPECT_NEAR(backward["total_s"].get<double>(), 2.5, 1e-12);
    EXPECT_NEAR(backward["share"].get<double>(), 2.5 / 5.664, 1e-12);
    EXPECT_NEAR(stage(train, "rotate", nullptr, "worker").is_null() ? 1 : 0, 1, 0);
    EXPECT_NEAR(stage(train, "transforms/rotate", "transforms", "worker")["mean_s"]
                    .get<double>(),
                0.05, 1e-12);
}

TEST(ReportJson, TablesClose) {
    const Json report = scene_json();
    for (const Json& phase : report["phases"]) {
        double top_s = 0;
        double life_s = 0;
        for (const Json& row : phase["stages"]) {
            if (row["parent"].is_null() && row["where"] == "main") {
                top_s += row["total_s"].get<double>();
            }
            if (row["parent"].is_null() && row["where"] == "worker" &&
                row["stage"] != "send") {
                life_s += row["total_s"].get<double>();
            }
        }
        EXPECT_NEAR(top_s, phase["wall_s"].get<double>(), 1e-9);
        EXPECT_NEAR(life_s, phase["worker_life_s"].get<double>(), 1e-9);
        EXPECT_NEAR(sum(phase["wait_causes"], "total_s"),
                    phase["exposed_wait_s"].get<double>(), 1e-9);
        EXPECT_NEAR(sum(phase["pass_waits"], "wait_s"),
                    phase["exposed_wait_s"].get<double>(), 1e-9);
        for (const Json& pass : phase["pass_waits"]) {
            double causes_s = pass["summed_s"].get<double>();
            for (const Json& cause_s : pass["causes"]) {
                causes_s += cause_s.get<double>();
            }
            EXPECT_NEAR(causes_s, pass["wait_s"].get<double>(), 1e-9);
        }
        for (const Json& worker : phase["workers"]) {
            EXPECT_NEAR(worker["life_s"].get<double>(),
                        worker["busy_s"].get<double>() +
                            worker["idle_s"].get<double>() +
                            worker["start_s"].get<double>() +
                            worker["unattributed_s"].get<double>(),
                        1e-9);
        }
    }
    EXPECT_NEAR(sum(report["run_time"]["rows"], "total_s"),
                report["run_time"]["wall_s"].get<double>(), 1e-9);
}

TEST(ReportJson, EpochStartsAreThere) {
    const Json starts = scene_json()["phases"][0]["epoch_starts"];
    ASSERT_EQ(starts.size(), 2U);
    EXPECT_NEAR(starts[1]["worker_start_s"].get<double>(), 0.03, 1e-12);
    EXPECT_NEAR(starts[1]["first_wait_s"].get<double>(), 0.3, 1e-12);
}

TEST(ReportJson, UnknownIsNull) {
    test::ModelBuilder builder;
    const auto pass = builder.iterator(builder.loader(builder.main(), "data", 0),
                                       "evaluation", false);
    builder.add(builder.main(), "loader", 0, 0, {pass, 0, 0});
    builder.add_open(builder.main(), "step", 0, {pass, 0, 0});
    const auto run = builder.build();
    const Json report = report_json(make_report(Findings(run)));

    EXPECT_TRUE(report["phases"][0]["step_s"]["mean"].is_null());
    EXPECT_TRUE(report["phases"][0]["steady_from_step"].is_null());
    EXPECT_EQ(report["phases"][0]["partial_steps"], 1);
    EXPECT_EQ(report["verdict"]["bound_by"], "unknown");
    EXPECT_TRUE(report["verdict"]["stage"].is_null());
    EXPECT_THAT(to_text(report), testing::Not(testing::HasSubstr("nan")));
}

TEST(ReportJson, ShowsOnePhaseOnDemand) {
    const auto run = test::TrainingScene().build();
    const Json report = report_json(make_report(Findings(run)), "evaluation");
    ASSERT_EQ(report["phases"].size(), 1U);
    EXPECT_EQ(report["phases"][0]["name"], "evaluation");
}

TEST(ReportJson, IsTextEvenWhereNamesAreNotUtf8) {
    test::ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "bad\xff", 0), "train");
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add(builder.main(), "step", 10, 20, {pass, 0, 0});
    const auto run = builder.build();
    EXPECT_THAT(to_text(report_json(make_report(Findings(run)))),
                testing::HasSubstr("bad\xef\xbf\xbd"));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
