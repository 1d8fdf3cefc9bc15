#include "analyzer/load/intervals.hpp"

#include <gtest/gtest.h>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/tables.hpp"
#include "tests/support/run_builder.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

using analyzer::AssembledRun;
using analyzer::Interval;
using analyzer::IntervalProblems;
using analyzer::RunFile;
using analyzer::Track;

// Two threads that take turns with `step` and the `loss` inside; every tenth step
// refers to a pass that is not there.
void write_steps(const std::filesystem::path& path, int count) {
    RunBuilder file(path);
    file.execute("BEGIN");
    const Id process = file.process(file.run("run-1"));
    const Id tracks[]{file.track(process), file.track(process)};
    for (int i = 0; i < count; ++i) {
        const Id track = tracks[i % 2];
        file.interval(track, "loss", 100 * i + 10, 20,
                      {.depth = 1, .step = i, .cpu_ns = i});
        file.interval(track, "step", 100 * i, 50,
                      {.iterator = i % 10 == 9 ? std::optional<Id>(99) : std::nullopt,
                       .step = i});
    }
    file.execute("COMMIT");
}

AssembledRun assembled(RunFile& file) {
    const analyzer::FileTables tables = analyzer::read_tables(file.database());
    return analyzer::assemble(tables.runs.at(0), {tables}, {analyzer::FileTraits{}});
}

bool same(const Interval& a, const Interval& b) {
    return a.start_ns == b.start_ns && a.dur_ns == b.dur_ns && a.step == b.step &&
           a.stage == b.stage && a.depth == b.depth;
}

TEST(ReadIntervals, TwoThreadsReadWhatOneReads) {
    const TempFolder folder;
    write_steps(folder / "run.db", 500);
    RunFile file = RunFile::open(folder / "run.db");
    AssembledRun alone = assembled(file);
    IntervalProblems problems;
    analyzer::read_intervals(file, alone.files[0], alone.run, problems);
    EXPECT_EQ(problems.dangling, 50);
    const auto& expected = alone.run.processes.at(0).tracks;
    EXPECT_EQ(expected.at(0).intervals.size() + expected.at(1).intervals.size(), 950U);

    for (const unsigned chunk_size : {1U, 7U, 64U, 999U, 1000U, 5000U}) {
        AssembledRun together = assembled(file);
        problems = {};
        analyzer::read_intervals_in_parallel(file, together.files[0], together.run,
                                             problems, chunk_size);
        EXPECT_EQ(problems.dangling, 50);
        for (std::size_t i = 0; i < 2; ++i) {
            const Track& track = together.run.processes.at(0).tracks.at(i);
            EXPECT_TRUE(std::equal(track.intervals.begin(), track.intervals.end(),
                                   expected[i].intervals.begin(),
                                   expected[i].intervals.end(), same))
                << chunk_size;
            EXPECT_EQ(track.cpu_ns, expected[i].cpu_ns);
        }
    }
}

TEST(ReadIntervals, AFileWithoutIntervalsGivesNone) {
    const TempFolder folder;
    write_steps(folder / "run.db", 0);
    RunFile file = RunFile::open(folder / "run.db");
    AssembledRun run = assembled(file);
    IntervalProblems problems;
    analyzer::read_intervals_in_parallel(file, run.files[0], run.run, problems);
    EXPECT_TRUE(run.run.processes.at(0).tracks.at(0).intervals.empty());
    EXPECT_FALSE(analyzer::is_large(file));
}

}  // namespace
}  // namespace metatrain_timing::test
