#include "analyzer/analysis/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analysis/report.hpp"
#include "analyzer/error.hpp"
#include "analyzer/render/verdict_text.hpp"
#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMs = ModelBuilder::kMillisecond;

// Ten steps: a wait in which the training process itself reads samples and collates,
// and a body of `forward`.
struct InProcess {
    double dataset_ms = 0;
    double collate_ms = 0;
    double forward_ms = 0;

    Run build() const {
        ModelBuilder run;
        const auto pass = run.iterator(run.loader(run.main(), "data", 0), "train");
        double at = 0;
        for (int turn = 0; turn < 10; ++turn) {
            const test::At where{pass, turn, turn};
            const double read = at + dataset_ms;
            const double body = read + collate_ms;
            const double end = body + forward_ms;
            run.add(run.main(), "loader", at, body, where);
            run.add(run.main(), "fetch", at, body, where);
            run.add(run.main(), "dataset", at, read, where);
            run.add(run.main(), "collate", read, body, where);
            run.add(run.main(), "step", body, end, where);
            run.add(run.main(), "forward", body, end, where);
            run.add(run.main(), "optimizer", end, end, where);
            at = end;
        }
        return run.build();
    }
};

TEST(Verdict, GoesByTheShareOfWaits) {
    const auto bound_by = [](double wait_ms) {
        const auto run = InProcess{wait_ms, 0, 100 - wait_ms}.build();
        return make_report(Findings(run)).verdict.bound_by;
    };
    EXPECT_EQ(bound_by(9), BoundBy::compute);
    EXPECT_EQ(bound_by(10), BoundBy::mixed);
    EXPECT_EQ(bound_by(29), BoundBy::mixed);
    EXPECT_EQ(bound_by(30), BoundBy::input);
}

TEST(Verdict, NamesGetitemOfTheDatasetThatIsWaitedFor) {
    const auto run = InProcess{760, 1, 30}.build();
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.bound_by, BoundBy::input);
    EXPECT_EQ(report.verdict.stage, "dataset");
    EXPECT_EQ(verdict_text(report),
              "Input-bound: 96 % of the time after warm-up is waiting for data: 761 ms "
              "of a 791 ms step. "
              "The training process makes the batches itself: 761 ms each, most on "
              "`__getitem__` of data.Dataset (760 ms).");
}

TEST(Verdict, NamesTheDearestStageOfAComputeBoundStep) {
    const auto run = InProcess{1, 1, 98}.build();
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.bound_by, BoundBy::compute);
    EXPECT_EQ(report.verdict.stage, "forward");
    EXPECT_EQ(
        verdict_text(report),
        "Compute-bound: 2.0 % of the time after warm-up is waiting for data: 2.00 ms "
        "of a 100 ms "
        "step. The dearest stage is `forward`: 98.0 ms per step, 100 % of the loop's "
        "body.");
}

// One worker makes each batch in `fetch_ms`, all of it collate; the body takes
// `body_ms`, and the wait is what is left.
Run with_worker(double fetch_ms, double body_ms, double cpu_ms = -1) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 8);
    const auto pass = run.iterator(loader, "train");
    const auto worker = run.worker(loader, 0, 0, 10'000);
    const double wait_ms = fetch_ms > body_ms ? fetch_ms - body_ms : 0.5;
    double at = fetch_ms - wait_ms;
    double fetch_at = 0;
    for (int turn = 0; turn < 10; ++turn) {
        const test::At where{pass, turn, turn};
        run.add(worker, "fetch", fetch_at, fetch_at + fetch_ms, {pass, turn});
        run.add(worker, "collate", fetch_at, fetch_at + fetch_ms,
                {pass, turn, -1,
                 cpu_ms < 0 ? -1 : static_cast<std::int64_t>(cpu_ms) * kMs});
        fetch_at += fetch_ms;
        run.add(run.main(), "loader", at, at + wait_ms, where);
        run.add(run.main(), "step", at + wait_ms, at + wait_ms + body_ms, where);
        run.add(run.main(), "backward", at + wait_ms, at + wait_ms + body_ms, where);
        run.add(run.main(), "optimizer", at + wait_ms + body_ms, at + wait_ms + body_ms,
                where);
        at += wait_ms + body_ms;
    }
    run.run().processes.front().environment = {{"cpu.granted", "2"}};
    return run.build();
}

TEST(Verdict, NeverLetsHiddenWorkLookFree) {
    const auto run = with_worker(40, 50);
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.bound_by, BoundBy::compute);
    EXPECT_THAT(verdict_text(report),
                HasSubstr("Beside it the workers spend 40.0 ms on each batch, most on "
                          "`collate` (40.0 ms)."));
}

TEST(Verdict, NamesTheStageOfTheWorkersThatIsWaitedFor) {
    const auto run = with_worker(80, 40);
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.bound_by, BoundBy::input);
    EXPECT_EQ(report.verdict.stage, "collate");
    EXPECT_THAT(
        verdict_text(report),
        HasSubstr("All of the waits are for batches in the making: a worker spends "
                  "80.0 ms on each, most on `collate` (80.0 ms)."));
}

TEST(Verdict, CountsWorkersAgainstTheCpusGranted) {
    const auto run = with_worker(80, 40, 20);
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.crowded_workers, 8);
    EXPECT_THAT(
        verdict_text(report),
        HasSubstr(
            "8 workers on 2 CPUs: `collate` takes 80.0 ms for 20.0 ms of CPU time."));
}

TEST(Verdict, DoesNotTakeSleepForCrowding) {
    const auto run = with_worker(80, 40, 1);
    const Report report = make_report(Findings(run));

    EXPECT_THAT(verdict_text(report), testing::EndsWith(" 8 workers on 2 CPUs."));
}

TEST(Verdict, SaysSoWhereTheFilesOfWorkersAreMissing) {
    auto run = with_worker(80, 40);
    std::erase_if(run.processes,
                  [](const Process& process) { return process.role == Role::worker; });
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.bound_by, BoundBy::input);
    EXPECT_EQ(verdict_text(report),
              "Input-bound: 50 % of the time after warm-up is waiting for data: 40.0 "
              "ms of a 80.0 ms step. "
              "What its workers did is not on record. 8 workers on 2 CPUs.");
}

TEST(Verdict, SaysNothingOfCpusThatSuffice) {
    auto run = with_worker(80, 40, 20);
    run.processes.front().environment = {{"cpu.granted", "8"}};
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.crowded_workers, std::nullopt);
    EXPECT_THAT(verdict_text(report), Not(HasSubstr("CPU")));
}

TEST(Verdict, BlamesTheStartOfWorkersForSlowFirstBatches) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 1);
    double at = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
        const auto pass = builder.iterator(loader, "train");
        const auto worker = builder.worker(loader, 0, static_cast<std::int64_t>(at),
                                           static_cast<std::int64_t>(at) + 2000);
        builder.add(worker, "worker_start", at, at + 990, {pass, -1});
        builder.add(worker, "fetch", at + 990, at + 1000, {pass, 0});
        for (int turn = 0; turn < 5; ++turn) {
            const double wait = turn == 0 ? 1000 : 1;
            const test::At where{pass, turn, 5 * epoch + turn};
            builder.add(builder.main(), "loader", at, at + wait, where);
            builder.add(builder.main(), "step", at + wait, at + wait + 99, where);
            builder.add(builder.main(), "optimizer", at + wait, at + wait + 9, where);
            at += wait + 99;
        }
    }
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.stage, "worker_start");
    EXPECT_THAT(
        verdict_text(report),
        HasSubstr("1.00 ms of a 100 ms step, and 1.00 s from one epoch to the next. "
                  "Workers are stopped and started anew for each epoch, 67 % of all "
                  "time; persistent_workers=True keeps them."));
}

TEST(Verdict, LeavesTheVeryFirstStepsOut) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 0);
    double at = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
        const auto pass = builder.iterator(loader, "train");
        for (int turn = 0; turn < 3; ++turn) {
            const bool compiles = epoch == 0 && turn == 0;
            const double wait = turn == 0 ? 100 : 30;
            const double body = compiles ? 40'000 : 10;
            const test::At where{pass, turn, 3 * epoch + turn};
            builder.add(builder.main(), "loader", at, at + wait, where);
            builder.add(builder.main(), "step", at + wait, at + wait + body, where);
            builder.add(builder.main(), "optimizer", at + wait, at + wait + 1, where);
            at += wait + body;
        }
    }
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    // Four steady steps, and the first of the second epoch.
    EXPECT_DOUBLE_EQ(report.verdict.wait_share, (4 * 30 + 100) / (4 * 40. + 110));
    EXPECT_EQ(report.verdict.bound_by, BoundBy::input);
    EXPECT_THAT(verdict_text(report),
                HasSubstr("Input-bound: 81 % of the time after warm-up is waiting for "
                          "data: 30.0 ms of a 40.0 ms step."));
}

TEST(Verdict, OfAnotherPhaseIsAboutThatPhase) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 0);
    double at = 0;
    for (const char* phase : {"train", "evaluation"}) {
        const auto pass = builder.iterator(loader, phase);
        for (int turn = 0; turn < 3; ++turn) {
            const double body = phase == std::string("train") ? 1000 : 10;
            const test::At where{pass, turn, turn};
            builder.add(builder.main(), "loader", at, at + 90, where);
            builder.add(builder.main(), "step", at + 90, at + 90 + body, where);
            at += 90 + body;
        }
    }
    const auto run = builder.build();
    Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.bound_by, BoundBy::compute);
    choose_phase(report, "");
    EXPECT_THROW(choose_phase(report, "warm-up"), Error);
    EXPECT_EQ(report.phases.front().name, "train");
    choose_phase(report, "evaluation");
    EXPECT_EQ(report.phases.front().name, "evaluation");
    EXPECT_EQ(report.verdict.bound_by, BoundBy::input);
    EXPECT_THAT(verdict_text(report), HasSubstr("90.0 ms of a 100 ms step"));
}

TEST(Verdict, IsUnknownWithoutACompleteStep) {
    ModelBuilder builder;
    const auto pass = builder.iterator(builder.loader(builder.main(), "data", 0),
                                       "evaluation", false);
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add_open(builder.main(), "step", 10, {pass, 0, 0});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.verdict.bound_by, BoundBy::unknown);
    EXPECT_EQ(report.verdict.stage, "");
    EXPECT_EQ(verdict_text(report), "Unknown: 0 complete steps, 1 partial.");
}

double share_of(const Verdict& verdict, Suspect suspect) {
    for (const Check& check : verdict.checks) {
        if (check.suspect == suspect) {
            return check.share.value_or(-1);
        }
    }
    return -2;
}

// Two workers; batch 1 takes worker 1 until 90, while batch 2 lies ready from 30 on.
TEST(Verdict, SaysWhatElseWasLookedAt) {
    ModelBuilder run;
    const auto loader = run.loader(run.main(), "data", 2);
    run.run().loaders.back().prefetch_factor = 2;
    const auto pass = run.iterator(loader, "train");
    const std::int32_t workers[] = {run.worker(loader, 0, 0, 100),
                                    run.worker(loader, 1, 0, 100)};
    run.add(workers[0], "fetch", 0, 10, {pass, 0});
    run.add(workers[1], "fetch", 0, 90, {pass, 1});
    run.add(workers[0], "fetch", 10, 25, {pass, 2});
    run.add(run.main(), "loader", 0, 12, {pass, 0, 0});
    run.add(run.main(), "receive", 11, 12, {pass, 0, 0});
    run.add(run.main(), "step", 12, 20, {pass, 0, 0});
    run.add(run.main(), "loader", 20, 92, {pass, 1, 1});
    run.add(run.main(), "receive", 28, 30, {pass, 2, 1});
    run.add(run.main(), "receive", 91, 92, {pass, 1, 1});
    run.add(run.main(), "step", 92, 98, {pass, 1, 1});
    run.add(run.main(), "loader", 98, 99, {pass, 2, 2});
    run.add(run.main(), "step", 99, 100, {pass, 2, 2});
    const auto built = run.build();
    const Report report = make_report(Findings(built));

    EXPECT_DOUBLE_EQ(share_of(report.verdict, Suspect::head_of_line), 0.62);
    EXPECT_EQ(share_of(report.verdict, Suspect::training_cpu), -1);
    EXPECT_EQ(share_of(report.verdict, Suspect::ranks), -2);  // there is one
    EXPECT_THAT(verdict_text(report),
                HasSubstr("62 % of the time a batch is waited for while a later one "
                          "lies ready."));
    EXPECT_THAT(checks_text(report), Not(HasSubstr("out of order")));
    EXPECT_THAT(checks_text(report),
                HasSubstr("Not on record: the training thread's wait for a CPU, the "
                          "workers' wait for a CPU."));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
