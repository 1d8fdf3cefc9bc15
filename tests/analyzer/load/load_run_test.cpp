#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <metatrain_timing/analyzer/analyzer.hpp>

#include "analyzer/error.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

using analyzer::Interval;
using analyzer::load_run;
using analyzer::Process;
using analyzer::Run;
using analyzer::Track;
using analyzer::Warning;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

// "stage start-end batch/step" of every interval, in order
std::vector<std::string> told(const Run& run, const Track& track) {
    std::vector<std::string> lines;
    for (const Interval& interval : track.intervals) {
        lines.push_back(
            run.stages.at(interval.stage) + " " + std::to_string(interval.start_ns) +
            "-" + std::to_string(interval.end_ns()) + " " +
            std::to_string(interval.batch) + "/" + std::to_string(interval.step));
    }
    return lines;
}

testing::Matcher<Warning> warning(const std::string& code, const std::string& part) {
    return AllOf(Field("code", &Warning::code, code),
                 Field("text", &Warning::text, HasSubstr(part)));
}

TEST(LoadRun, ReadingsOfTheCpusGoToTheirProcessAndThread) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id process = file.process(file.run("run-1"));
        const Id track = file.track(process);
        file.cpu_usage(process, std::nullopt, 20, 9, 4);
        file.cpu_usage(process, std::nullopt, 10, 5, std::nullopt);
        file.cpu_usage(process, track, 10, 3, 2);
        file.cpu_usage(process, track + 1, 10, 3, 2);                 // of nobody
        file.cpu_usage(process, track, INT64_MIN, INT64_MAX, 2);      // impossible
        file.cpu_usage(process, std::nullopt, 30, -1, std::nullopt);  // likewise
    }
    const analyzer::Run run = load_run(folder / "run.db");
    const Process& process = run.processes.at(0);
    ASSERT_EQ(process.cpu_usage.size(), 2);
    EXPECT_EQ(process.cpu_usage[0].at_ns, 10);
    EXPECT_EQ(process.cpu_usage[0].queued_ns, -1);
    EXPECT_EQ(process.cpu_usage[1].cpu_ns, 9);
    ASSERT_EQ(process.tracks.at(0).cpu_usage.size(), 1);
    EXPECT_EQ(process.tracks[0].cpu_usage[0].queued_ns, 2);
    EXPECT_THAT(run.warnings, Contains(warning("rows_skipped", "3 ")));
}

TEST(LoadRun, ProcessesOfAllFilesMakeOneRun) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const auto run = load_run(folder / "run.db");
    EXPECT_EQ(run.uuid, "run-1");
    EXPECT_EQ(run.attempt, 1);
    EXPECT_EQ(run.started_unix_ns, 1'000'000'000);
    EXPECT_EQ(run.command, "python train.py");
    ASSERT_EQ(run.processes.size(), 3U);
    EXPECT_EQ(run.processes[0].uuid, "main-0");
    EXPECT_EQ(run.processes[0].clock_offset_ns, 1'000'000'000);
    EXPECT_EQ(run.processes[1].worker_id, 0);
    EXPECT_EQ(run.processes[2].worker_id, 1);
    EXPECT_THAT(run.warnings, IsEmpty());
    EXPECT_EQ(run.files.size(), 3U);
}

TEST(LoadRun, IntervalsAreSortedWithParentsBeforeTheirChildren) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const auto run = load_run(folder / "run.db");
    EXPECT_THAT(
        told(run, run.processes[0].tracks.at(0)),
        ElementsAre("loader 100-110 0/0", "step 110-140 0/0", "optimizer 130-140 0/0",
                    "loader 140-150 1/1", "step 150-180 1/1", "optimizer 170-180 1/1"));
    EXPECT_THAT(told(run, run.processes[2].tracks.at(0)),
                ElementsAre("fetch 30-70 1/-1", "collate 50-70 1/-1"));
}

TEST(LoadRun, WorkersCopiesOfLoadersAndPassesAreFoldedIntoTheOwners) {
    const TempFolder folder;
    write_training(folder / "run.db");
    const auto run = load_run(folder / "run.db");
    ASSERT_EQ(run.loaders.size(), 1U);
    EXPECT_EQ(run.loaders[0].process, 0);
    ASSERT_EQ(run.iterators.size(), 1U);
    EXPECT_EQ(run.iterators[0].phase, "train");
    EXPECT_EQ(run.iterators[0].first_wait_ns, 100);
    for (const Process& process : run.processes) {
        for (const Interval& interval : process.tracks.at(0).intervals) {
            EXPECT_EQ(interval.iterator, 0);
        }
    }
    EXPECT_EQ(run.processes[1].loader, 0);
}

TEST(LoadRun, ALoneWorkerFileHasLoadersOfAnUnknownOwner) {
    const TempFolder folder;
    write_worker(folder / "w.db", 0);
    const auto run = load_run(folder / "w.db");
    ASSERT_EQ(run.loaders.size(), 1U);
    EXPECT_EQ(run.loaders[0].process, -1);
    EXPECT_EQ(run.iterators.at(0).phase, "unknown");
}

TEST(LoadRun, TheFileOfTheTrainingAloneWarnsOfTheWorkersFiles) {
    const TempFolder folder;
    write_main(folder / "run.db");
    const auto run = load_run(folder / "run.db");
    EXPECT_THAT(run.warnings, ElementsAre(warning("worker_files_missing",
                                                  "2 worker files not found")));
}

TEST(LoadRun, EvaluationBeforeTheFirstTrainingPassIsToldApart) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id process = file.process(file.run("run-1"));
        const Id loader = file.loader({.process = process});
        file.iterator({.loader = loader,
                       .number = 1,
                       .phase = "evaluation",
                       .first_wait_ns = 10});
        file.iterator(
            {.loader = loader, .number = 2, .phase = "train", .first_wait_ns = 20});
        file.iterator({.loader = loader,
                       .number = 3,
                       .phase = "evaluation",
                       .first_wait_ns = 30});
        file.iterator({.loader = loader, .number = 4});
        file.iterator(
            {.loader = loader, .number = 5, .phase = "mine", .first_wait_ns = 1});
    }
    std::vector<std::string> phases;
    for (const auto& iterator : load_run(folder / "run.db").iterators) {
        phases.push_back(iterator.phase);
    }
    EXPECT_THAT(phases, ElementsAre("before-training", "train", "evaluation", "unused",
                                    "mine"));
}

TEST(LoadRun, TheNewestOfSeveralRunsIsTakenUnlessOneIsNamed) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        file.process(file.run("bbb", 2'000), {.uuid = "p2"});
        file.process(file.run("aaa", 3'000), {.uuid = "p3"});
        file.process(file.run("abc", 1'000), {.uuid = "p1"});
    }
    const std::string path = folder / "run.db";
    EXPECT_EQ(load_run(path).uuid, "aaa");
    EXPECT_EQ(load_run(path, "1").uuid, "abc");
    EXPECT_EQ(load_run(path + "@2").uuid, "bbb");
    EXPECT_EQ(load_run(path + "@b").uuid, "bbb");
    EXPECT_EQ(load_run(path, "2").processes.at(0).uuid, "p2");
    EXPECT_THROW(load_run(path, "a"), analyzer::Error);  // two begin so
    EXPECT_THROW(load_run(path, "4"), analyzer::Error);  // there are three
    EXPECT_THROW(load_run(path + "@1", "1"), analyzer::Error);
}

TEST(LoadRun, SlotFilesHoldManyLivesOfManyRuns) {
    const TempFolder folder;
    write_main(folder / "run.db");
    write_main(folder / "run.db", "run-2", "main-1");
    for (int worker = 0; worker < 2; ++worker) {
        const std::string slot =
            folder / ("run.db.d/rank0-w0" + std::to_string(worker));
        write_worker(slot + ".db", worker);
        write_worker(slot + ".db", worker, "run-2", "main-1");
    }
    for (const std::string name : {"run-1", "run-2"}) {
        const auto run = load_run(folder / "run.db", name);
        EXPECT_EQ(run.processes.size(), 3U) << name;
        EXPECT_EQ(run.loaders.size(), 1U) << name;
        EXPECT_THAT(told(run, run.processes[1].tracks.at(0)),
                    ElementsAre("fetch 20-60 0/-1", "collate 40-60 0/-1"))
            << name;
    }
}

TEST(LoadRun, AProcessInTwoFilesCountsOnce) {
    const TempFolder folder;
    write_training(folder / "run.db");
    std::filesystem::copy_file(folder / "run.db.d/rank0-w00.db",
                               folder / "run.db.d/copy of it.db");
    const auto run = load_run(folder / "run.db");
    ASSERT_EQ(run.processes.size(), 3U);
    EXPECT_EQ(run.processes[1].tracks.size(), 1U);
    EXPECT_EQ(run.processes[1].tracks[0].intervals.size(), 2U);
}

TEST(LoadRun, OfTwoRecordsOfAProcessTheFullerOneIsTaken) {
    const TempFolder folder;
    for (const std::string name : {"a.db", "b.db", "c.db"}) {
        RunBuilder file(folder / name);
        const Id track = file.track(file.process(file.run("run-1")));
        for (int i = 0; i < (name == "b.db" ? 3 : 1); ++i) {
            file.interval(track, "step", 10 * i, 5);
        }
    }
    const auto run = load_run(folder.path());
    ASSERT_EQ(run.processes.size(), 1U);
    EXPECT_EQ(run.processes[0].tracks.at(0).intervals.size(), 3U);
}

TEST(LoadRun, RowsThatReferToNothingAreSkippedAndCounted) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id track = file.track(file.process(file.run("run-1")));
        file.interval(track, "step", 0, 5);
        file.interval(99, "step", 0, 5);
        file.interval(track, "step", 6, 5, {.iterator = 99});
        file.execute("UPDATE interval SET stage_id = 99 WHERE id = 3");
        file.counter(99, "atoms", 0, 1);
    }
    const auto run = load_run(folder / "run.db");
    EXPECT_EQ(run.processes.at(0).tracks.at(0).intervals.size(), 1U);
    EXPECT_THAT(run.warnings, ElementsAre(warning("rows_skipped", "3 rows")));
}

TEST(LoadRun, ImpossibleTimesAreSkippedAndOverlapsCut) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id track = file.track(file.process(file.run("run-1")));
        file.interval(track, "loss", 50, 100, {.depth = 1});  // ends after its parent
        file.interval(track, "step", 0, 100);
        file.interval(track, "step", 200, -1);
        file.interval(track, "step", std::numeric_limits<std::int64_t>::max(), 1);
        file.counter(track, "atoms", 0, 1e308 * 10);
    }
    const auto run = load_run(folder / "run.db");
    EXPECT_THAT(told(run, run.processes.at(0).tracks.at(0)),
                ElementsAre("step 0-100 -1/-1", "loss 50-100 -1/-1"));
    EXPECT_THAT(run.warnings, ElementsAre(warning("rows_impossible", "3 rows"),
                                          warning("intervals_cut", "1 interval")));
}

TEST(LoadRun, NumbersTooLargeForTheModelAreUnknown) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id track = file.track(file.process(file.run("run-1")));
        file.interval(track, "step", 0, 5,
                      {.depth = 1'000'000, .batch = 1LL << 40, .step = -7});
    }
    const auto run = load_run(folder / "run.db");
    const Interval& interval = run.processes.at(0).tracks.at(0).intervals.at(0);
    EXPECT_EQ(interval.depth, 65535);
    EXPECT_EQ(interval.batch, -1);
    EXPECT_EQ(interval.step, -1);
}

TEST(LoadRun, CpuTimesStayWithTheirIntervals) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id track = file.track(file.process(file.run("run-1")));
        file.interval(track, "loader", 0, 10);
        file.interval(track, "collate", 30, 10, {.depth = 1, .cpu_ns = 0});
        file.interval(track, "fetch", 20, 30, {.depth = 0, .cpu_ns = 25});
        file.interval(track, "loader", 60, 10);
    }
    const Track track = load_run(folder / "run.db").processes.at(0).tracks.at(0);
    EXPECT_THAT(track.cpu_ns, ElementsAre(-1, 25, 0, -1));
}

TEST(LoadRun, OpenIntervalsCountersFactsAndProblemsAreThere) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id process =
            file.process(file.run("run-1"), {.dropped_count = 12, .unsummed_count = 2});
        const Id track = file.track(process);
        file.open_interval(track, "step", 70, {.step = 3});
        file.counter(track, "atoms", 5, 2.5, {.batch = 1});
        file.fact(process, "torch.version", "2.13.0");
        file.health(process, "unknown_torch", "torch 9 is not known");
    }
    const auto run = load_run(folder / "run.db");
    const Process& process = run.processes.at(0);
    EXPECT_EQ(process.tracks.at(0).open.at(0).start_ns, 70);
    EXPECT_EQ(process.tracks.at(0).open.at(0).step, 3);
    EXPECT_EQ(process.tracks.at(0).counters.at(0).value, 2.5);
    EXPECT_EQ(run.counter_names.at(process.tracks.at(0).counters.at(0).name), "atoms");
    EXPECT_THAT(process.environment, ElementsAre(std::pair<std::string, std::string>(
                                         "torch.version", "2.13.0")));
    EXPECT_THAT(
        run.warnings,
        ElementsAre(
            warning("records_dropped",
                    "12 records dropped since a buffer was full, in 1 process: they are"
                    " not there one by one, but their sums are exact, except for 2"
                    " records of which nothing is known"),
            warning("unknown_torch", "torch 9")));
}

TEST(LoadRun, ARunThatPassedItsSizeLimitSaysSo) {
    const TempFolder folder;
    {
        RunBuilder file(folder / "run.db");
        const Id process = file.process(file.run("run-1"), {.uuid = "main"});
        file.fact(process, "thinning.keeps_one_in", "16");
        file.interval(file.track(process), "step", 0, 10, {});
    }
    const auto run = load_run(folder / "run.db");
    EXPECT_THAT(
        run.warnings,
        ElementsAre(warning("thinned",
                            "the run passed METATRAIN_TIMING_MAX_SIZE: about 1 in "
                            "16 of its batches is on record one by one, and what is "
                            "said of single ones (medians, percentiles, steady steps, "
                            "some causes of waits) is of these; counts and totals are "
                            "of all")));
}

TEST(LoadRun, AWorkerOfTwoLoadersWithTheSameNumbersStaysWithItsOwner) {
    // two ranks, each with a loader and a pass number 1
    const TempFolder folder;
    write_training(folder / "run.db");
    {
        RunBuilder file(folder / "run.db.d/rank1.db");
        const Id process = file.process(file.run("run-1", 1'000'000'001),
                                        {.uuid = "main-rank1", .rank = 1});
        const Id loader =
            file.loader({.process = process, .name = "other", .num_workers = 1});
        file.iterator({.loader = loader, .phase = "evaluation", .first_wait_ns = 1});
    }
    write_worker(folder / "run.db.d/rank1-w00.db", 0, "run-1", "main-rank1");
    const auto run = load_run(folder / "run.db");
    ASSERT_EQ(run.loaders.size(), 2U);
    EXPECT_EQ(run.loaders[0].name, "train");
    EXPECT_EQ(run.loaders[1].name, "other");
    EXPECT_EQ(run.iterators.size(), 2U);
    std::vector<std::int32_t> served;
    for (const Process& process : run.processes) {
        served.push_back(process.loader);
    }
    // main 0, main 1, then the workers by rank (rows say 0) and start: 0, 0 of rank 1,
    // 1
    EXPECT_THAT(served, testing::UnorderedElementsAre(-1, -1, 0, 0, 1));
}

}  // namespace
}  // namespace metatrain_timing::test
