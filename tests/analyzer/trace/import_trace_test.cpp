#include "analyzer/import_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <string>
#include <vector>

#include "analyzer/error.hpp"
#include "analyzer/export_run.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::analyzer {
namespace {

namespace fs = std::filesystem;
using test::RunBuilder;
using Model = Run;  // a test has a Run() of its own
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ImportTraceTest : public testing::Test {
  protected:
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }

    Model import(const std::vector<std::string>& traces, TraceSource source) {
        const std::string output = folder_ / fmt_name();
        answer_ = import_trace(traces, source, output);
        return load_run(output);
    }

    std::string fmt_name() { return "run" + std::to_string(++runs_) + ".db"; }

    static std::vector<std::string> names(const Model& run, const Track& track) {
        std::vector<std::string> found;
        for (const Interval& interval : track.intervals) {
            found.push_back(run.stages[interval.stage]);
        }
        return found;
    }

    test::TempFolder folder_;
    ImportAnswer answer_;
    int runs_ = 0;
};

TEST_F(ImportTraceTest, WhatWasExportedIsTheSameRun) {
    const fs::path database = folder_ / "run.db";
    test::write_training(database);
    {
        RunBuilder file(database);
        file.counter(1, "atoms", 120, 32.5, {.iterator = 1, .batch = 0, .step = 0});
        file.open_interval(1, "checkpoint", 185, {.step = 1});
    }
    const std::string trace = folder_ / "trace.json";
    ExportQuestion question;
    question.path = database;
    question.output = trace;
    export_run(question, {});
    const Model before = load_run(database);
    const Model after = import({trace}, TraceSource::chrome);
    EXPECT_THAT(answer_.warnings, IsEmpty());
    EXPECT_EQ(after.uuid, before.uuid);
    ASSERT_EQ(after.processes.size(), before.processes.size());
    for (std::size_t p = 0; p < before.processes.size(); ++p) {
        const Process& was = before.processes[p];
        const Process& is = after.processes[p];
        EXPECT_EQ(is.uuid, was.uuid);
        EXPECT_EQ(is.worker_id, was.worker_id);
        EXPECT_EQ(is.ending, was.ending);
        EXPECT_EQ(is.ended_ns, was.ended_ns);
        ASSERT_EQ(is.tracks.size(), was.tracks.size());
        const Track& track = was.tracks[0];
        ASSERT_EQ(is.tracks[0].intervals.size(), track.intervals.size());
        for (std::size_t i = 0; i < track.intervals.size(); ++i) {
            const Interval& a = track.intervals[i];
            const Interval& b = is.tracks[0].intervals[i];
            EXPECT_EQ(after.stages[b.stage], before.stages[a.stage]);
            EXPECT_EQ(b.start_ns, a.start_ns);
            EXPECT_EQ(b.dur_ns, a.dur_ns);
            EXPECT_EQ(b.depth, a.depth);
            EXPECT_EQ(b.step, a.step);
            EXPECT_EQ(b.iterator, a.iterator);
            EXPECT_EQ(b.batch, a.batch);
        }
        EXPECT_EQ(is.tracks[0].counters.size(), track.counters.size());
        EXPECT_EQ(is.tracks[0].open.size(), track.open.size());
    }
    EXPECT_EQ(after.iterators.at(0).phase, "train");
    EXPECT_EQ(after.loaders.at(0).num_workers, 2);
    EXPECT_EQ(after.processes[0].tracks[0].counters.at(0).batch, 0);
}

TEST_F(ImportTraceTest, ATraceOfAnybodyHasItsProcessesThreadsAndNesting) {
    const std::string trace = write("any.json", R"([
        {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "server"}},
        {"ph": "M", "name": "thread_name", "pid": 5, "tid": 1, "args": {"name": "main"}},
        {"ph": "B", "name": "outer", "pid": 5, "tid": 1, "ts": 10},
        {"ph": "B", "name": "inner", "pid": 5, "tid": 1, "ts": 12},
        {"ph": "E", "pid": 5, "tid": 1, "ts": 14},
        {"ph": "E", "name": "outer", "pid": 5, "tid": 1, "ts": 20},
        {"ph": "E", "pid": 5, "tid": 1, "ts": 21},
        {"ph": "B", "name": "for ever", "pid": 5, "tid": 1, "ts": 30},
        {"ph": "X", "name": "io", "pid": 5, "tid": 2, "ts": 11, "dur": 2.5},
        {"ph": "X", "name": "child", "pid": 9, "tid": 9, "ts": 1, "dur": 1},
        {"ph": "C", "name": "memory", "pid": 5, "tid": 1, "ts": 13, "args": {"value": 7}},
        {"ph": "C", "name": "cpu", "pid": 5, "tid": 1, "ts": 13, "args": {"user": 1.5}},
        {"ph": "i", "name": "instant", "pid": 5, "tid": 1, "ts": 13}
    ])");
    const Model run = import({trace}, TraceSource::chrome);
    EXPECT_THAT(answer_.warnings, IsEmpty());
    ASSERT_THAT(run.processes, SizeIs(2));
    EXPECT_EQ(run.processes[0].role, Role::main);
    EXPECT_EQ(run.processes[0].pid, 5);
    EXPECT_EQ(run.processes[0].started_ns, 10'000);
    EXPECT_EQ(run.processes[1].role, Role::child);
    ASSERT_THAT(run.processes[0].tracks, SizeIs(2));
    const Track& main = run.processes[0].tracks[0];
    EXPECT_EQ(main.name, "main");
    EXPECT_THAT(names(run, main), ElementsAre("outer", "inner"));
    EXPECT_EQ(main.intervals[0].dur_ns, 10'000);
    EXPECT_EQ(main.intervals[1].depth, 1);
    ASSERT_THAT(main.open, SizeIs(1));
    EXPECT_EQ(run.stages[main.open[0].stage], "for ever");
    ASSERT_THAT(main.counters, SizeIs(2));
    EXPECT_THAT(run.counter_names, testing::UnorderedElementsAre("memory", "cpu user"));
    EXPECT_EQ(run.processes[0].tracks[1].name, "thread 2");
}

TEST_F(ImportTraceTest, WhatCannotBeIsCounted) {
    const std::string trace = write("odd.json", R"([
        {"ph": "X", "name": "good", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
        {"ph": "X", "name": "backwards", "pid": 1, "tid": 1, "ts": 5, "dur": -1},
        {"ph": "X", "name": "timeless", "pid": 1, "tid": 1, "dur": 1},
        {"ph": "X", "name": "huge", "pid": 1, "tid": 1, "ts": 1e30, "dur": 1},
        {"name": "no phase", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
        {"ph": "B", "name": "b", "pid": 1, "tid": 1, "ts": 9},
        {"ph": "E", "name": "b", "pid": 1, "tid": 1, "ts": 7},
        {"ph": "C", "name": "c", "pid": 1, "tid": 1, "ts": 7, "args": {"x": "words"}}
    ])");
    const Model run = import({trace}, TraceSource::viztracer);
    EXPECT_EQ(answer_.event_count, 8U);
    EXPECT_EQ(answer_.interval_count, 1U);
    ASSERT_THAT(answer_.warnings, SizeIs(1));
    EXPECT_EQ(answer_.warnings[0].code, "events_impossible");
    EXPECT_THAT(answer_.warnings[0].text, HasSubstr("5 events"));
}

// torch.profiler's names, in ms: two passes of two batches and the two requests that
// found no more; then a loop that evaluates.
std::string profiled(int rank, bool with_steps) {
    std::string events;
    const auto add = [&](const std::string& name, double at, double to,
                         const char* category = "user_annotation") {
        events += (events.empty() ? "" : ",\n") +
                  std::string(R"({"ph": "X", "cat": ")") + category +
                  R"(", "name": ")" + name + R"(", "pid": 4, "tid": 4, "ts": )" +
                  std::to_string(at * 1000) + R"(, "dur": )" +
                  std::to_string((to - at) * 1000) + "}";
    };
    const std::string wait =
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
    double at = 100;
    int step = 7;
    for (int epoch = 0; epoch < 2; ++epoch) {
        for (int batch = 0; batch < 2; ++batch) {
            if (with_steps) {
                add("ProfilerStep#" + std::to_string(step++), at, at + 20);
            }
            add(wait, at, at + 5);
            add("forward", at + 6, at + 10);
            add("autograd::engine::evaluate_function: Inner", at + 7, at + 8, "cpu_op");
            add("aten::mm", at + 7, at + 8, "cpu_op");
            add("autograd::engine::evaluate_function: A", at + 11, at + 13, "cpu_op");
            add("autograd::engine::evaluate_function: B", at + 13, at + 15, "cpu_op");
            add("Optimizer.step#SGD.step", at + 16, at + 18);
            at += 20;
        }
        add(wait, at, at + 1);
        at += 2;
    }
    for (int batch = 0; batch < 3; ++batch) {
        add(wait, at, at + 2);
        add("forward", at + 3, at + 5);
        at += 6;
    }
    add(wait, at, at + 1);
    return R"({"baseTimeNanoseconds": 1790000000000000000, "distributedInfo": {"rank": )" +
           std::to_string(rank) + R"(, "world_size": 2}, "traceEvents": [)" + events +
           "]}";
}

TEST_F(ImportTraceTest, TorchsProfilerHasLoopsStepsAndBackwards) {
    const Model run = import({write("k.json", profiled(0, true))}, TraceSource::kineto);
    ASSERT_THAT(run.processes, SizeIs(1));
    const Track& track = run.processes[0].tracks.at(0);
    EXPECT_THAT(
        names(run, track),
        ElementsAre("loader", "step", "forward", "backward", "optimizer",  //
                    "loader", "step", "forward", "backward", "optimizer", "loader_end",
                    "loader", "step", "forward", "backward", "optimizer",  //
                    "loader", "step", "forward", "backward", "optimizer", "loader_end",
                    "loader", "step", "forward", "loader", "step", "forward",  //
                    "loader", "step", "forward", "loader_end"));
    ASSERT_THAT(run.iterators, SizeIs(3));
    EXPECT_EQ(run.iterators[0].phase, "train");
    EXPECT_EQ(run.iterators[1].epoch, 1);
    EXPECT_EQ(run.iterators[2].phase, "evaluation");
    EXPECT_TRUE(run.iterators[2].exhausted);
    EXPECT_EQ(run.loaders.at(0).num_workers, 1);
    // The second turn: from the end of its wait to that of the profiler's step.
    EXPECT_EQ(track.intervals[6].start_ns, 125'000'000);
    EXPECT_EQ(track.intervals[6].end_ns(), 140'000'000);
    EXPECT_EQ(track.intervals[6].step, 8);
    EXPECT_EQ(track.intervals[6].batch, 1);
    EXPECT_EQ(track.intervals[7].step, 8);
    // From the first to the last node that no named stretch encloses.
    EXPECT_EQ(track.intervals[8].start_ns, 131'000'000);
    EXPECT_EQ(track.intervals[8].dur_ns, 4'000'000);
    EXPECT_EQ(run.processes[0].clock_offset_ns, 1'790'000'000'000'000'000);
}

TEST_F(ImportTraceTest, WithoutStepsOfTheProfilerTheOptimizersCount) {
    const Model run =
        import({write("k.json", profiled(0, false))}, TraceSource::kineto);
    const Track& track = run.processes[0].tracks.at(0);
    EXPECT_EQ(run.stages[track.intervals[6].stage], "step");
    EXPECT_EQ(track.intervals[6].step, 1);
    EXPECT_EQ(track.intervals[6].end_ns(), 140'000'000);  // of the request that follows
}

TEST_F(ImportTraceTest, SeveralFilesAreRanks) {
    const Model run =
        import({write("b.json", profiled(1, true)), write("a.json", profiled(0, true))},
               TraceSource::kineto);
    ASSERT_THAT(run.processes, SizeIs(2));
    EXPECT_EQ(run.processes[0].rank, 0);
    EXPECT_EQ(run.processes[1].rank, 1);
    EXPECT_EQ(run.processes[1].world_size, 2);
    EXPECT_THAT(run.iterators, SizeIs(6));
}

TEST_F(ImportTraceTest, GradientsThatAreAccumulatedAreNoPauses) {
    std::string events;
    for (int turn = 0; turn < 12; ++turn) {
        const auto at = std::to_string(turn * 10'000);
        events +=
            std::string(turn == 0 ? "" : ",") +
            R"({"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "dur": 1000,
                      "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                      "ts": )" +
            at + "}";
        if (turn % 4 == 3) {
            events += R"(, {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1,
                            "name": "Optimizer.step#A.step", "dur": 1000, "ts": )" +
                      std::to_string(turn * 10'000 + 5'000) + "}";
        }
    }
    const Model run =
        import({write("k.json", "[" + events + "]")}, TraceSource::kineto);
    ASSERT_THAT(run.iterators, SizeIs(1));
    std::vector<std::int32_t> steps;
    for (const Interval& interval : run.processes[0].tracks[0].intervals) {
        if (run.stages[interval.stage] == "step") {
            steps.push_back(interval.step);
        }
    }
    EXPECT_THAT(steps, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2));
}

TEST_F(ImportTraceTest, WhereGradientsAreAddedUpIsTraining) {
    // Ten batches, a step every four and two left over; then two that evaluate.
    std::string events;
    int at = 0;
    const auto add = [&](const char* category, const std::string& name, int from) {
        events += std::string(events.empty() ? "" : ",") + R"({"ph": "X", "cat": ")" +
                  category + R"(", "pid": 1, "tid": 1, "dur": 100, "name": ")" + name +
                  R"(", "ts": )" + std::to_string(from) + "}";
    };
    const auto request = [&] {
        add("user_annotation",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at);
    };
    for (int epoch = 0; epoch < 2; ++epoch) {
        for (int batch = 0; batch < 13; ++batch, at += 1000) {
            request();
            if (batch < 10) {
                add("cpu_op",
                    "autograd::engine::evaluate_function: "
                    "torch::autograd::AccumulateGrad",
                    at + 300);
            }
            if (batch < 10 && batch % 4 == 3) {
                add("user_annotation", "Optimizer.step#A.step", at + 600);
            }
        }
        request();
        at += 1000;
    }
    const Model run =
        import({write("k.json", "[" + events + "]")}, TraceSource::kineto);
    std::map<std::string, int> calls;
    for (const Interval& interval : run.processes[0].tracks[0].intervals) {
        const std::string phase =
            interval.iterator < 0
                ? ""
                : run.iterators[static_cast<std::size_t>(interval.iterator)].phase;
        ++calls[phase + " " + run.stages[interval.stage]];
    }
    EXPECT_EQ(calls["train loader"], 20);
    EXPECT_EQ(calls["train step"], 20);
    EXPECT_EQ(calls["train backward"], 20);
    EXPECT_EQ(calls["train optimizer"], 4);
    EXPECT_EQ(calls["evaluation loader"], 4);
    EXPECT_EQ(calls["evaluation step"], 4);
    EXPECT_THAT(run.iterators, SizeIs(4));
}

TEST_F(ImportTraceTest, ACutTraceIsReadAndSaid) {
    const std::string whole = profiled(0, true);
    const std::string trace = write("cut.json", whole.substr(0, whole.size() / 2));
    const Model run = import({trace}, TraceSource::kineto);
    ASSERT_THAT(answer_.warnings, SizeIs(1));
    EXPECT_EQ(answer_.warnings[0].code, "trace_damaged");
    EXPECT_THAT(run.iterators, testing::Not(IsEmpty()));
}

TEST_F(ImportTraceTest, ExportedMetadataThatIsDamagedIsOneLine) {
    const auto refused = [&](const std::string& metadata) {
        const std::string trace = write(
            "bad.json",
            R"({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1,
                "dur": 1}], "metadata": {"schema": "mt.trace/1", )" +
                metadata + "}}");
        try {
            import_trace({trace}, TraceSource::chrome, folder_ / "bad.db");
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refused(R"("processes": [])"), HasSubstr("does not know"));
    EXPECT_THAT(refused(R"("processes": [{"pid": 1, "uuid": "u"}])"),
                HasSubstr("a thread that it does not know"));
    EXPECT_THAT(refused(R"("processes": [{"pid": 1}])"), HasSubstr("without uuid"));
    EXPECT_THAT(refused(R"("loaders": [{"process": 5}])"), HasSubstr("of no process"));
    EXPECT_THAT(refused(R"("iterators": [{"loader": 0}])"), HasSubstr("no loader"));
    EXPECT_FALSE(fs::exists(folder_ / "bad.db"));
}

TEST_F(ImportTraceTest, OverwritesNothing) {
    const std::string trace = write("k.json", profiled(0, true));
    EXPECT_THROW(import_trace({trace}, TraceSource::kineto, trace), Error);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
