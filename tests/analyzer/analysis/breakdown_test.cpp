#include "analyzer/analysis/breakdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "analyzer/analysis/report.hpp"
#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;

constexpr std::int64_t kMs = ModelBuilder::kMillisecond;

const StageRow& row(const std::vector<StageRow>& rows, const std::string& stage,
                    const std::string& parent = "") {
    for (const StageRow& candidate : rows) {
        if (candidate.stage == stage && candidate.parent == parent) {
            return candidate;
        }
    }
    throw std::runtime_error("no row " + parent + "/" + stage);
}

std::int64_t total_ms(const std::vector<StageRow>& rows, const std::string& stage,
                      const std::string& parent = "") {
    return row(rows, stage, parent).total_ns / kMs;
}

// Each row is the sum of its parts, `unattributed` among them, to the nanosecond.
void expect_closed(const std::vector<StageRow>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::int64_t parts_ns = 0;
        bool has_parts = false;
        for (std::size_t k = i + 1; k < rows.size() && rows[k].level > rows[i].level;
             ++k) {
            if (rows[k].level == rows[i].level + 1) {
                parts_ns += rows[k].total_ns;
                has_parts = true;
            }
        }
        if (has_parts) {
            EXPECT_EQ(parts_ns, rows[i].total_ns) << rows[i].stage;
        }
    }
}

// One epoch of two steps without workers:
//   wait 20 = fetch 18 (dataset 6, collate 10 (serialize 4)) + 2
//   body 30 = forward 10 + backward 12 + optimizer 3 + 5
//   loader_end 7, and 3 between the first turn and the second
Run in_process_run() {
    ModelBuilder run;
    const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train");
    for (int turn = 0; turn < 2; ++turn) {
        const int at = 53 * turn;
        const test::At where{pass, turn, turn};
        run.add(run.main(), "loader", at, at + 20, where);
        run.add(run.main(), "fetch", at + 1, at + 19, where);
        run.add(run.main(), "dataset", at + 1, at + 7, where);
        run.add(run.main(), "collate", at + 8, at + 18, where);
        run.add(run.main(), "serialize", at + 10, at + 14, where);
        run.add(run.main(), "step", at + 20, at + 50, where);
        run.add(run.main(), "forward", at + 20, at + 30, where);
        run.add(run.main(), "backward", at + 31, at + 43, where);
        run.add(run.main(), "optimizer", at + 45, at + 48, where);
    }
    run.add(run.main(), "loader_end", 103, 110, {pass, -1, 2});
    return run.build();
}

TEST(Breakdown, WallIsWaitsAndBodiesAndTheRest) {
    const auto run = in_process_run();
    const Report report = make_report(Findings(run));

    const Breakdown& time = report.phases.at(0).time;
    EXPECT_EQ(time.wall_ns, 110 * kMs);
    EXPECT_EQ(time.loader_ns, 40 * kMs);
    EXPECT_EQ(time.step_ns, 60 * kMs);
    EXPECT_EQ(time.outside_ns, 10 * kMs);
    EXPECT_EQ(total_ms(time.main, "loader"), 40);
    EXPECT_EQ(total_ms(time.main, "step"), 60);
    EXPECT_EQ(total_ms(time.main, "outside"), 10);
    EXPECT_EQ(total_ms(time.main, "loader_end", "outside"), 7);
    EXPECT_EQ(total_ms(time.main, "unattributed", "outside"), 3);
}

TEST(Breakdown, EveryRowIsTheSumOfItsPartsAndTheRest) {
    const auto run = in_process_run();
    const Report report = make_report(Findings(run));

    const std::vector<StageRow>& rows = report.phases.at(0).time.main;
    expect_closed(rows);
    EXPECT_EQ(total_ms(rows, "forward", "step"), 20);
    EXPECT_EQ(total_ms(rows, "unattributed", "step"), 10);
    EXPECT_EQ(total_ms(rows, "fetch", "loader"), 36);
    EXPECT_EQ(total_ms(rows, "unattributed", "loader"), 4);
    EXPECT_EQ(total_ms(rows, "unattributed", "fetch"), 4);
    EXPECT_EQ(total_ms(rows, "serialize", "collate"), 8);
    EXPECT_EQ(total_ms(rows, "unattributed", "collate"), 12);
}

TEST(Breakdown, SharesAreOfTheWallAndAddUpToOneAtTheTop) {
    const auto run = in_process_run();
    const Report report = make_report(Findings(run));

    double sum = 0;
    for (const StageRow& candidate : report.phases.at(0).time.main) {
        sum += candidate.level == 0 ? candidate.share : 0;
    }
    EXPECT_DOUBLE_EQ(sum, 1.0);
    EXPECT_DOUBLE_EQ(row(report.phases.at(0).time.main, "forward", "step").share,
                     20.0 / 110.0);
}

TEST(Breakdown, StatisticsAreOfCalls) {
    const auto run = in_process_run();
    const Report report = make_report(Findings(run));

    const StageRow& forward = row(report.phases.at(0).time.main, "forward", "step");
    EXPECT_EQ(forward.calls, 2);
    EXPECT_DOUBLE_EQ(forward.call->mean_ns, 10.0 * kMs);
    EXPECT_DOUBLE_EQ(forward.call->median_ns, 10.0 * kMs);
    EXPECT_DOUBLE_EQ(
        row(report.phases.at(0).time.main, "unattributed", "step").call->mean_ns,
        5.0 * kMs);
}

TEST(Breakdown, ALoopNestedInABodyIsOneRowOfItAndATableOfItsOwn) {
    ModelBuilder builder;
    const auto train =
        builder.iterator(builder.loader(builder.main(), "train", 0), "train");
    const auto valid =
        builder.iterator(builder.loader(builder.main(), "valid", 0), "evaluation");
    builder.add(builder.main(), "loader", 0, 10, {train, 0, 0});
    builder.add(builder.main(), "step", 10, 100, {train, 0, 0});
    builder.add(builder.main(), "forward", 10, 30, {train, 0, 0});
    builder.add(builder.main(), "loader", 40, 45, {valid, 0, 0});
    builder.add(builder.main(), "step", 45, 60, {valid, 0, 0});
    builder.add(builder.main(), "forward", 46, 58, {valid, 0, 0});
    builder.add(builder.main(), "loader_end", 60, 62, {valid, -1, 0});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    const std::vector<StageRow>& outer = report.phases.at(0).time.main;
    expect_closed(outer);
    EXPECT_EQ(total_ms(outer, "evaluation loop", "step"), 22);
    EXPECT_EQ(total_ms(outer, "forward", "step"), 20);
    EXPECT_EQ(total_ms(outer, "unattributed", "step"), 48);
    const std::vector<StageRow>& inner = report.phases.at(1).time.main;
    expect_closed(inner);
    EXPECT_EQ(total_ms(inner, "forward", "step"), 12);
    EXPECT_EQ(report.phases.at(1).time.wall_ns, 22 * kMs);
}

// One worker, life 0 to 100: start 10, idle 5, fetch 30 (collate 20), gap 5, idle 40,
// and 10 to its end; its sender thread works 8 beside it.
Run run_with_a_worker() {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 1);
    const auto pass = builder.iterator(loader, "train");
    const auto worker = builder.worker(loader, 0, 0, 100);
    builder.add(worker, "worker_start", 0, 10);
    builder.add(worker, "worker_idle", 10, 15);
    builder.add(worker, "fetch", 15, 45, {pass, 0});
    builder.add(worker, "collate", 20, 40, {pass, 0, -1, 6 * kMs});
    builder.add(worker, "worker_idle", 50, 90);
    builder.add(worker, "send", 45, 53, {pass, 0}, "QueueFeederThread");
    builder.add(builder.main(), "loader", 5, 60, {pass, 0, 0});
    builder.add(builder.main(), "step", 60, 90, {pass, 0, 0});
    return builder.build();
}

TEST(Breakdown, RowsOfWorkersCloseTheirLives) {
    const auto run = run_with_a_worker();
    const Report report = make_report(Findings(run));

    const Breakdown& time = report.phases.at(0).time;
    EXPECT_EQ(time.worker_life_ns, 100 * kMs);
    expect_closed(time.worker);
    EXPECT_EQ(total_ms(time.worker, "fetch"), 30);
    EXPECT_EQ(total_ms(time.worker, "worker_idle"), 45);
    EXPECT_EQ(total_ms(time.worker, "worker_start"), 10);
    EXPECT_EQ(total_ms(time.worker, "unattributed"), 15);
    EXPECT_DOUBLE_EQ(row(time.worker, "fetch").share, 0.30);
    EXPECT_EQ(row(time.worker, "collate", "fetch").where, Where::worker);
}

TEST(Breakdown, TheSenderThreadIsBesideTheLifeOfItsWorker) {
    const auto run = run_with_a_worker();
    const Report report = make_report(Findings(run));

    EXPECT_EQ(total_ms(report.phases.at(0).time.worker_sender, "send"), 8);
    EXPECT_EQ(row(report.phases.at(0).time.worker_sender, "send").where, Where::worker);
}

TEST(Breakdown, CpuTimeStandsBesideTheLengthItWasMeasuredFor) {
    const auto run = run_with_a_worker();
    const Report report = make_report(Findings(run));

    const StageRow& collate = row(report.phases.at(0).time.worker, "collate", "fetch");
    EXPECT_EQ(collate.cpu_ns, 6 * kMs);
    EXPECT_EQ(collate.cpu_wall_ns, 20 * kMs);
    EXPECT_EQ(row(report.phases.at(0).time.worker, "fetch").cpu_ns, std::nullopt);
}

TEST(Breakdown, WorkersOfARowTellOneLifeInParts) {
    const auto run = run_with_a_worker();
    const Report report = make_report(Findings(run));

    const auto& workers = report.phases.at(0).workers;
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(workers[0].lives, 1);
    EXPECT_EQ(workers[0].batches, 1);
    EXPECT_EQ(workers[0].busy_ns, 30 * kMs);
    EXPECT_EQ(workers[0].idle_ns, 45 * kMs);
    EXPECT_EQ(workers[0].start_ns, 10 * kMs);
    EXPECT_EQ(workers[0].unattributed_ns, 15 * kMs);
    EXPECT_EQ(workers[0].life_ns, 100 * kMs);
}

TEST(Breakdown, APersistentWorkerSharesItsLifeAmongThePassesItServes) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 1);
    const auto first = builder.iterator(loader, "train");
    const auto second = builder.iterator(loader, "mine");
    const auto worker = builder.worker(loader, 0, 0, 100);
    builder.add(worker, "fetch", 0, 30, {first, 0});
    builder.add(worker, "worker_idle", 30, 50);  // no pass of its own: the next one's
    builder.add(worker, "fetch", 50, 90, {second, 0});
    builder.add(builder.main(), "loader", 0, 31, {first, 0, 0});
    builder.add(builder.main(), "step", 31, 40, {first, 0, 0});
    builder.add(builder.main(), "loader", 45, 91, {second, 0, 1});
    builder.add(builder.main(), "step", 91, 99, {second, 0, 1});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.phases.at(0).name, "train");
    EXPECT_EQ(report.phases.at(0).time.worker_life_ns, 30 * kMs);
    EXPECT_EQ(report.phases.at(1).name, "mine");
    EXPECT_EQ(report.phases.at(1).time.worker_life_ns, 70 * kMs);
    EXPECT_EQ(total_ms(report.phases.at(1).time.worker, "worker_idle"), 20);
    EXPECT_EQ(total_ms(report.phases.at(1).time.worker, "unattributed"), 10);
}

TEST(Breakdown, AnotherThreadOfTheTrainingProcessHasRowsOfItsOwn) {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 1), "train");
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add(builder.main(), "step", 10, 30, {pass, 0, 0});
    builder.add(builder.main(), "receive", 1, 3, {pass, 0}, "pt_data_pin");
    builder.add(builder.main(), "pin", 3, 7, {pass, 0}, "pt_data_pin");
    builder.add(builder.main(), "log", 3, 8, {pass, 0}, "logger");
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    const Breakdown& time = report.phases.at(0).time;
    EXPECT_EQ(total_ms(time.pin, "pin"), 4);
    EXPECT_EQ(row(time.pin, "receive").where, Where::pin);
    EXPECT_EQ(row(time.thread, "log").where, Where::thread);
    EXPECT_EQ(total_ms(time.main, "unattributed", "loader"), 10);
}

TEST(Breakdown, ThreadsThatServeNoLoopAreListedByTheirName) {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 1), "train");
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add(builder.main(), "step", 10, 30, {pass, 0, 0});
    builder.add(builder.main(), "download", 2, 12, {}, "prefetcher");
    builder.add(builder.main(), "unzip", 4, 8, {}, "prefetcher");
    builder.add(builder.main(), "download", 12, 15, {}, "prefetcher");
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_EQ(report.other_threads.size(), 1U);
    const OtherThread& other = report.other_threads.front();
    EXPECT_EQ(other.role, Role::main);
    EXPECT_EQ(other.thread, "prefetcher");
    expect_closed(other.rows);
    EXPECT_EQ(row(other.rows, "download").calls, 2);
    EXPECT_EQ(total_ms(other.rows, "download"), 13);
    EXPECT_EQ(total_ms(other.rows, "unzip", "download"), 4);
    EXPECT_TRUE(report.phases.at(0).time.thread.empty());
}

TEST(Breakdown, WhatNeverEndedClosesOverItsParts) {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 1), "train");
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add(builder.main(), "step", 10, 30, {pass, 0, 0});
    builder.add(builder.main(), "read", 2, 9, {pass, 0}, "helper");
    builder.add(builder.main(), "read", 12, 17, {pass, 1}, "helper");
    auto run = builder.build();
    for (Interval& interval : run.processes.front().tracks.at(1).intervals) {
        interval.depth = 1;  // in something that was still open when recording ended
    }
    const Report report = make_report(Findings(run));

    const std::vector<StageRow>& rows = report.phases.at(0).time.thread;
    expect_closed(rows);
    EXPECT_EQ(total_ms(rows, "unfinished"), 12);
    EXPECT_EQ(total_ms(rows, "read", "unfinished"), 12);
    EXPECT_EQ(total_ms(rows, "unattributed", "unfinished"), 0);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
