#include "analyzer/analysis/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMs = ModelBuilder::kMillisecond;

// Adds turns of 10 (wait 1) to a pass of a loader and returns the end of the last.
double add_turns(ModelBuilder& run, std::int32_t pass, double at, int count,
                 std::int64_t rank = 0) {
    for (int turn = 0; turn < count; ++turn) {
        const test::At where{pass, turn, turn};
        run.add(run.main(rank), "loader", at, at + 1, where);
        run.add(run.main(rank), "step", at + 1, at + 10, where);
        at += 10;
    }
    return at;
}

std::vector<std::string> names_of(const Report& report) {
    std::vector<std::string> names;
    for (const PhaseReport& phase : report.phases) {
        names.push_back(phase.name + "/" + phase.loader);
    }
    return names;
}

TEST(Report, HasOnePhaseForEachPhaseAndLoaderTrainingFirst) {
    ModelBuilder builder;
    const auto train = builder.loader(builder.main(), "a", 0);
    const auto valid = builder.loader(builder.main(), "b", 0);
    double at = add_turns(builder, builder.iterator(train, "before-training"), 0, 2);
    at = add_turns(builder, builder.iterator(train, "train"), at, 3);
    at = add_turns(builder, builder.iterator(valid, "evaluation"), at, 2);
    at = add_turns(builder, builder.iterator(train, "train"), at, 3);
    add_turns(builder, builder.iterator(valid, "export"), at, 1);
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_THAT(names_of(report), ElementsAre("train/a", "export/b", "evaluation/b",
                                              "before-training/a"));
    EXPECT_EQ(report.phases[0].steps.epochs, 2);
    EXPECT_EQ(report.phases[0].steps.steps, 6);
    EXPECT_EQ(report.phases[0].time.wall_ns, 60 * kMs);
}

TEST(Report, JudgesTheTrainingLoopThatTookLongest) {
    ModelBuilder builder;
    const double at = add_turns(
        builder, builder.iterator(builder.loader(builder.main(), "a", 0), "train"), 0,
        2);
    add_turns(builder,
              builder.iterator(builder.loader(builder.main(), "b", 0), "train"), at, 9);
    const auto run = builder.build();

    EXPECT_THAT(names_of(make_report(Findings(run))),
                ElementsAre("train/b", "train/a"));
}

TEST(Report, NamesZippedLoadersTogether) {
    ModelBuilder builder;
    const auto a = builder.iterator(builder.loader(builder.main(), "z", 4), "train");
    const auto b = builder.iterator(builder.loader(builder.main(), "a", 4), "train");
    builder.add(builder.main(), "loader", 0, 10, {a, 0, 0});
    builder.add(builder.main(), "loader", 10, 15, {b, 0, 0});
    builder.add(builder.main(), "step", 15, 30, {a, 0, 0});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_THAT(names_of(report), ElementsAre("train/z + a"));
    EXPECT_EQ(report.phases[0].time.loader_ns, 15 * kMs);
    EXPECT_EQ(report.phases[0].steps.micro_steps, 1);
    EXPECT_THAT(report.phases[0].loaders, SizeIs(2));
}

TEST(Report, TellsWorkersOfZippedLoadersApart) {
    ModelBuilder builder;
    const auto a_loader = builder.loader(builder.main(), "a", 1);
    const auto b_loader = builder.loader(builder.main(), "b", 1);
    const auto a = builder.iterator(a_loader, "train");
    const auto b = builder.iterator(b_loader, "train");
    builder.add(builder.main(), "loader", 0, 10, {a, 0, 0});
    builder.add(builder.main(), "loader", 10, 15, {b, 0, 0});
    builder.add(builder.main(), "step", 15, 30, {a, 0, 0});
    builder.add(builder.worker(a_loader, 0, 0, 30), "fetch", 0, 9, {a, 0});
    builder.add(builder.worker(b_loader, 0, 0, 30), "fetch", 0, 14, {b, 0});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.phases[0].workers, SizeIs(2));
    EXPECT_EQ(report.phases[0].workers[0].loader, a_loader);
    EXPECT_EQ(report.phases[0].workers[0].busy_ns, 9 * kMs);
    EXPECT_EQ(report.phases[0].workers[1].loader, b_loader);
    EXPECT_EQ(report.phases[0].workers[1].busy_ns, 14 * kMs);
}

TEST(Report, KeepsPassesThatNobodyWaitedForApart) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 1);
    add_turns(builder, builder.iterator(loader, "train"), 0, 2);
    const auto unused = builder.iterator(loader, "unused");
    const auto worker = builder.worker(loader, 0, 20, 60);
    builder.add(worker, "fetch", 20, 35, {unused, 0});
    builder.add(worker, "fetch", 35, 50, {unused, 1});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_THAT(names_of(report), ElementsAre("train/data"));
    EXPECT_THAT(report.phases[0].workers, IsEmpty());
    ASSERT_THAT(report.unused, SizeIs(1));
    EXPECT_EQ(report.unused[0].passes, 1);
    EXPECT_EQ(report.unused[0].batches, 2);
    EXPECT_EQ(report.unused[0].worker_ns, 30 * kMs);
}

TEST(Report, SumsRanksUpAndCountsStepsOnce) {
    ModelBuilder builder;
    for (int rank = 0; rank < 2; ++rank) {
        const auto loader = builder.loader(builder.main(rank), "data", 0);
        add_turns(builder, builder.iterator(loader, "train"), 0, 4, rank);
    }
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_THAT(names_of(report), ElementsAre("train/data"));
    EXPECT_EQ(report.rank_count, 2);
    EXPECT_EQ(report.phases[0].rank_count, 2);
    EXPECT_EQ(report.phases[0].steps.steps, 4);
    EXPECT_EQ(report.phases[0].steps.epochs, 1);
    EXPECT_EQ(report.phases[0].time.wall_ns, 80 * kMs);
    EXPECT_THAT(report.phases[0].loaders, SizeIs(1));
}

TEST(Report, RatesAreTotalsOverTotalsAndAddUpOverRanks) {
    ModelBuilder builder;
    for (int rank = 0; rank < 2; ++rank) {
        const auto pass =
            builder.iterator(builder.loader(builder.main(rank), "data", 0), "train");
        // 8 in 40 ms, then 8 in 10 ms: 320 in a second, no mean of 200 and 800
        builder.add(builder.main(rank), "loader", 0, 10, {pass, 0, 0});
        builder.add(builder.main(rank), "step", 10, 40, {pass, 0, 0});
        builder.count(builder.main(rank), "structures", 12, 8, {pass, 0, 0});
        builder.add(builder.main(rank), "loader", 40, 41, {pass, 1, 1});
        builder.add(builder.main(rank), "step", 41, 50, {pass, 1, 1});
        builder.count(builder.main(rank), "structures", 42, 8, {pass, 1, 1});
    }
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.phases[0].counters, SizeIs(1));
    EXPECT_EQ(report.phases[0].counters[0].name, "structures");
    EXPECT_DOUBLE_EQ(report.phases[0].counters[0].total, 32);
    EXPECT_DOUBLE_EQ(*report.phases[0].counters[0].per_s, 640);
    // 32 in 50 ms of each of two ranks
    EXPECT_DOUBLE_EQ(*report.phases[0].counters[0].each_ns, 100.0 * kMs / 32);
}

TEST(Report, SaysHowMuchTheSizesOfBatchesDiffer) {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 0), "train");
    const double at = add_turns(builder, pass, 0, 4);
    for (const auto& [batch, atoms] : {std::pair(0, 3), {0, 4}, {1, 12}, {2, 5}}) {
        builder.count(builder.main(), "atoms", 10.0 * batch + 2, atoms,
                      {pass, batch, batch});
    }
    builder.count(builder.main(), "atoms", at, 16, {pass, -1, -1});  // of no batch
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.phases[0].counters, SizeIs(1));
    const CounterRate& atoms = report.phases[0].counters[0];
    EXPECT_DOUBLE_EQ(atoms.total, 40);
    EXPECT_DOUBLE_EQ(*atoms.each_ns, 1.0 * kMs);
    ASSERT_TRUE(atoms.per_batch);
    EXPECT_EQ(atoms.per_batch->batches, 3);
    EXPECT_DOUBLE_EQ(atoms.per_batch->min, 5);
    EXPECT_DOUBLE_EQ(atoms.per_batch->median, 7);
    EXPECT_DOUBLE_EQ(atoms.per_batch->max, 12);
}

TEST(Report, OfWhatIsCountedInNoBatchAndDownHasNoSpreadAndNoTimeEach) {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 0), "train");
    add_turns(builder, pass, 0, 4);
    builder.count(builder.main(), "left", 2, -4, {pass, -1, -1});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.phases[0].counters, SizeIs(1));
    EXPECT_DOUBLE_EQ(*report.phases[0].counters[0].per_s, -100);
    EXPECT_FALSE(report.phases[0].counters[0].each_ns);
    EXPECT_FALSE(report.phases[0].counters[0].per_batch);
}

TEST(Report, ShowsWhatTheBeginOfEachEpochCost) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 4);
    double at = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
        const auto pass = builder.iterator(loader, "train");
        builder.add(builder.main(), "worker_start", at, at + 20, {pass, -1, 0});
        at += 20;
        builder.add(builder.main(), "loader", at, at + 1000, {pass, 0, 0});
        builder.add(builder.main(), "step", at + 1000, at + 1030, {pass, 0, 0});
        at += 1030;
    }
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.phases[0].epoch_starts, SizeIs(3));
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
        const EpochStart& start = report.phases[0].epoch_starts[epoch];
        EXPECT_EQ(start.epoch, static_cast<std::int64_t>(epoch));
        EXPECT_EQ(start.worker_start_ns, 20 * kMs);
        EXPECT_EQ(start.first_wait_ns, 1000 * kMs);
        EXPECT_EQ(start.before_wall_ns, 20 * kMs);
    }
}

TEST(Report, RunTimeClosesTheLifeOfTheTrainingProcess) {
    ModelBuilder builder;
    const auto train = builder.loader(builder.main(), "a", 0);
    const auto valid = builder.loader(builder.main(), "b", 0);
    const auto pass = builder.iterator(train, "train");
    const auto inner = builder.iterator(valid, "evaluation");
    builder.add(builder.main(), "worker_start", 100, 110, {pass, -1, 0});
    builder.add(builder.main(), "loader", 110, 120, {pass, 0, 0});
    builder.add(builder.main(), "step", 120, 200, {pass, 0, 0});
    builder.add(builder.main(), "loader", 150, 160, {inner, 0, 0});
    builder.add(builder.main(), "step", 160, 170, {inner, 0, 0});
    builder.add(builder.main(), "save", 210, 240);
    builder.run().processes.front().ended_ns = 250 * kMs;
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    std::vector<std::pair<std::string, std::int64_t>> rows;
    for (const RunTimeRow& row : report.run_time.rows) {
        rows.emplace_back(row.what, row.total_ns / kMs);
    }
    EXPECT_EQ(report.run_time.wall_ns, 250 * kMs);
    EXPECT_THAT(
        rows,
        ElementsAre(std::make_pair("train", 90), std::make_pair("evaluation", 0),
                    std::make_pair("save", 30), std::make_pair("worker_start", 10),
                    std::make_pair("unattributed", 120)));
}

TEST(Report, AnIntervalAroundLoopsIsShownWithoutThem) {
    ModelBuilder builder;
    const auto pass = builder.iterator(builder.loader(builder.main(), "a", 0), "train");
    builder.add(builder.main(), "epoch", 0, 100);
    builder.add(builder.main(), "loader", 10, 20, {pass, 0, 0});
    builder.add(builder.main(), "step", 20, 70, {pass, 0, 0});
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.run_time.rows, SizeIs(3));
    EXPECT_EQ(report.run_time.rows[0].total_ns, 60 * kMs);
    EXPECT_EQ(report.run_time.rows[1].what, "epoch");
    EXPECT_EQ(report.run_time.rows[1].total_ns, 40 * kMs);
    EXPECT_EQ(report.run_time.rows[2].total_ns, 0);
}

TEST(Report, PutsLivesThatEndedAlikeTogether) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 1);
    add_turns(builder, builder.iterator(loader, "train"), 0, 1);
    const auto pass = builder.iterator(loader, "train");
    builder.worker(loader, 0, 0, 10);
    builder.worker(loader, 0, 10, 20);
    const auto killed = builder.worker(loader, 0, 20, 30);
    builder.run().processes[static_cast<std::size_t>(killed)].ending = "killed";
    builder.add_open(killed, "fetch", 22, {pass, 3});
    builder.add_open(killed, "collate", 25, {pass, 3});
    auto run = builder.build();
    run.processes[static_cast<std::size_t>(killed)].tracks[0].open[1].depth = 1;
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.processes, SizeIs(3));
    EXPECT_EQ(report.processes[1].lives, 2);
    EXPECT_EQ(report.processes[1].ending, "clean");
    EXPECT_EQ(report.processes[2].lives, 1);
    EXPECT_EQ(report.processes[2].ending, "killed");
    EXPECT_EQ(report.processes[2].open_stage, "collate");
}

TEST(Report, WarnsOfEachStoredProblemOnce) {
    ModelBuilder builder;
    add_turns(builder,
              builder.iterator(builder.loader(builder.main(), "a", 0), "train"), 0, 1);
    builder.run().processes.front().health = {{"disk_full", "the disk was full"},
                                              {"disk_full", "the disk was full"}};
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    ASSERT_THAT(report.warnings, SizeIs(1));
    EXPECT_EQ(report.warnings[0].code, "disk_full");
}

TEST(Report, OfARunWithoutLoopsHasNoPhases) {
    ModelBuilder builder;
    builder.add(builder.main(), "export", 0, 10);
    const auto run = builder.build();
    const Report report = make_report(Findings(run));

    EXPECT_THAT(report.phases, IsEmpty());
    EXPECT_EQ(report.verdict.bound_by, BoundBy::unknown);
}

// A thread fetches ahead into a queue; the main thread trains from that.
TEST(Report, KnowsALoopThatOnlyFeedsTheTraining) {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 0), "evaluation");
    for (int turn = 0; turn < 10; ++turn) {
        const double at = 100 * turn;
        const test::At where{pass, turn, -1};
        builder.add(builder.main(), "loader", at, at + 90, where, "prefetcher");
        builder.add(builder.main(), "step", at + 90, at + 100, where, "prefetcher");
        builder.add(builder.main(), "backward", at + 10, at + 50);
        builder.add(builder.main(), "optimizer", at + 50, at + 60);
    }
    const auto run = builder.build();
    Report report = make_report(Findings(run));
    EXPECT_THAT(names_of(report), ElementsAre("background/data"));
    EXPECT_EQ(report.verdict.bound_by, BoundBy::unknown);

    // A loop of the training thread is what the report is about, be it shorter.
    const auto own =
        builder.iterator(builder.loader(builder.main(), "own", 0), "train");
    add_turns(builder, own, 5000, 3);
    const auto both = builder.build();
    report = make_report(Findings(both));
    EXPECT_THAT(names_of(report), ElementsAre("train/own", "background/data"));
    EXPECT_EQ(report.verdict.bound_by, BoundBy::mixed);
}

TEST(Report, OfAnEmptyRunIsEmpty) {
    const auto run = ModelBuilder().build();
    const Report report = make_report(Findings(run));

    EXPECT_THAT(report.phases, IsEmpty());
    EXPECT_EQ(report.rank_count, 0);
    EXPECT_EQ(report.run_time.wall_ns, 0);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
