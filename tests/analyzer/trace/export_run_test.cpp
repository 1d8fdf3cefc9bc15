#include "analyzer/export_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analyzer/error.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::analyzer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::RunBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// The training of training_files.hpp, whose first process started at 0.
class ExportRunTest : public testing::Test {
  protected:
    ExportRunTest() { test::write_training(database()); }

    fs::path database() const { return folder_ / "run.db"; }

    ExportQuestion question() const {
        ExportQuestion question;
        question.path = database();
        question.output = folder_ / "trace.json";
        return question;
    }

    json trace(const ExportQuestion& question) const {
        answer_ = export_run(question, {});
        std::ifstream file(question.output);
        return json::parse(file);
    }

    static std::vector<json> events(const json& trace, const std::string& kind) {
        std::vector<json> found;
        for (const json& event : trace.at("traceEvents")) {
            if (event.at("ph") == kind) {
                found.push_back(event);
            }
        }
        return found;
    }

    static std::vector<std::string> names(const std::vector<json>& events) {
        std::vector<std::string> names;
        for (const json& event : events) {
            names.push_back(event.at("name"));
        }
        return names;
    }

    test::TempFolder folder_;
    mutable ExportAnswer answer_;
};

TEST_F(ExportRunTest, ShowsEveryIntervalOfEveryProcess) {
    const json trace = this->trace(question());
    const std::vector<json> slices = events(trace, "X");
    EXPECT_THAT(names(slices),
                ElementsAre("loader", "step", "optimizer", "loader", "step",
                            "optimizer", "fetch", "collate", "fetch", "collate"));
    EXPECT_EQ(answer_.slice_count, 10U);
    EXPECT_EQ(answer_.bytes, fs::file_size(question().output));
    // Microseconds; to the nanosecond.
    EXPECT_EQ(slices[1].at("ts"), 0.110);
    EXPECT_EQ(slices[1].at("dur"), 0.030);
    EXPECT_EQ(slices[1].at("cat"), "train");
    EXPECT_EQ(slices[1].at("args"),
              json({{"step", 0}, {"epoch", 0}, {"batch", 0}, {"iterator", 0}}));
    EXPECT_EQ(slices[8].at("ts"), 0.030);
    EXPECT_EQ(slices[8].at("args").at("batch"), 1);
}

TEST_F(ExportRunTest, NamesProcessesAndThreads) {
    const json trace = this->trace(question());
    std::vector<std::string> processes;
    std::vector<std::string> threads;
    for (const json& event : events(trace, "M")) {
        if (event.at("name") == "process_name") {
            processes.push_back(event.at("args").at("name"));
        } else if (event.at("name") == "thread_name") {
            threads.push_back(event.at("args").at("name"));
        }
    }
    EXPECT_THAT(processes, ElementsAre("training, process 7", "worker 0 of train",
                                       "worker 1 of train"));
    EXPECT_THAT(threads, ElementsAre("MainThread", "MainThread", "MainThread"));
    const json& run = trace.at("metadata");
    EXPECT_EQ(run.at("schema"), "mt.trace/1");
    EXPECT_EQ(run.at("begin_unix_ns"), 1'000'000'000);
    EXPECT_THAT(run.at("processes"), SizeIs(3));
    EXPECT_EQ(run.at("processes")[1].at("worker"), 0);
}

TEST_F(ExportRunTest, TiesTheSendingOfABatchToTheWaitItEnds) {
    {
        RunBuilder file(database().string() + ".d/rank0-w01.db");
        const auto sender = file.track(1, "sender");
        file.interval(sender, "send", 75, 20, {.depth = 0, .iterator = 1, .batch = 1});
    }
    const json trace = this->trace(question());
    const std::vector<json> begins = events(trace, "s");
    const std::vector<json> ends = events(trace, "f");
    ASSERT_THAT(begins, SizeIs(1));
    ASSERT_THAT(ends, SizeIs(2));
    EXPECT_EQ(begins[0].at("ts"), 0.094);  // in its last nanosecond
    EXPECT_EQ(ends[1].at("id"), begins[0].at("id"));
    EXPECT_NE(ends[0].at("id"), begins[0].at("id"));
    EXPECT_EQ(ends[1].at("ts"), 0.149);
    EXPECT_EQ(ends[1].at("pid"), 1);
    EXPECT_EQ(begins[0].at("pid"), 3);
}

TEST_F(ExportRunTest, ShowsCountersAndWhatNeverEnded) {
    {
        RunBuilder file(database());
        file.counter(1, "atoms", 120, 32.5, {.iterator = 1, .batch = 0, .step = 0});
        file.open_interval(1, "checkpoint", 185, {.step = 1});
    }
    const json trace = this->trace(question());
    ASSERT_THAT(events(trace, "C"), SizeIs(1));
    EXPECT_EQ(events(trace, "C")[0].at("args"), json({{"value", 32.5}}));
    EXPECT_EQ(events(trace, "C")[0].at("batch"), 0);
    ASSERT_THAT(events(trace, "B"), SizeIs(1));
    EXPECT_EQ(events(trace, "B")[0].at("name"), "checkpoint");
    EXPECT_FALSE(events(trace, "B")[0].contains("dur"));
}

TEST_F(ExportRunTest, AFewStepsHaveWhatWorkersDidForThem) {
    ExportQuestion question = this->question();
    question.steps = StepSpan{1, 1};
    const json trace = this->trace(question);
    // Both workers were done before step 1 began; worker 1 had worked for it.
    EXPECT_THAT(names(events(trace, "X")),
                ElementsAre("loader", "step", "optimizer", "fetch", "collate"));
    for (const json& event : events(trace, "X")) {
        EXPECT_EQ(event.at("args").at("batch"), 1) << event;
    }
}

TEST_F(ExportRunTest, AnotherRankIsLeftOut) {
    ExportQuestion question = this->question();
    question.rank = 0;
    EXPECT_THAT(events(trace(question), "X"), SizeIs(10));
}

TEST_F(ExportRunTest, IsCompressedWhereTheNameSaysSo) {
    ExportQuestion question = this->question();
    const json plain = trace(question);
    question.output += ".gz";
    export_run(question, {});
    const gzFile file = gzopen(question.output.c_str(), "rb");
    ASSERT_NE(file, nullptr);
    std::string text(1 << 16, '\0');
    const int size = gzread(file, text.data(), static_cast<unsigned>(text.size()));
    EXPECT_EQ(gzdirect(file), 0);
    gzclose(file);
    ASSERT_GT(size, 0);
    EXPECT_EQ(json::parse(text.substr(0, static_cast<std::size_t>(size))), plain);
}

TEST_F(ExportRunTest, OddNamesMakeNoOddJson) {
    {
        RunBuilder file(database());
        file.interval(1, "a\"b\\c\n\xff\x1b[31m", 182, 1, {});
    }
    const json trace = this->trace(question());
    EXPECT_EQ(names(events(trace, "X"))[6], R"(a"b\c\n\xff\x1b[31m)");
}

void expect_error(const ExportQuestion& question, ErrorCode code,
                  const std::string& text) {
    try {
        export_run(question, {});
        ADD_FAILURE() << "no error: " << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code);
        EXPECT_THAT(error.what(), HasSubstr(text));
    }
}

TEST_F(ExportRunTest, SaysWhatIsNotThere) {
    ExportQuestion question = this->question();
    question.rank = 3;
    expect_error(question, ErrorCode::usage, "no rank 3; there are 0 to 0");
    question.rank.reset();
    question.steps = StepSpan{5, 9};
    expect_error(question, ErrorCode::usage, "no steps 5 to 9; there are 0 to 1");
    question.steps.reset();
    question.output = folder_ / "nowhere" / "trace.json";
    expect_error(question, ErrorCode::failed, "cannot be written");
    EXPECT_FALSE(fs::exists(this->question().output));
}

TEST_F(ExportRunTest, OverwritesNothingAndLeavesNothingHalfDone) {
    ExportQuestion question = this->question();
    std::ofstream(question.output) << "mine";
    expect_error(question, ErrorCode::failed, "exists and is not overwritten");
    EXPECT_EQ(fs::file_size(question.output), 4U);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 3);
}

TEST_F(ExportRunTest, ADamagedFileIsShownUpToTheDamage) {
    fs::resize_file(database().string() + ".d/rank0-w00.db",
                    fs::file_size(database().string() + ".d/rank0-w00.db") - 4096);
    const json trace = this->trace(question());
    EXPECT_GE(events(trace, "X").size(), 8U);
    EXPECT_THAT(answer_.warnings, testing::Not(IsEmpty()));
}

TEST(StepSpan, IsOneStepOrTwo) {
    EXPECT_EQ(StepSpan::parse("7").first, 7);
    EXPECT_EQ(StepSpan::parse("7").last, 7);
    EXPECT_EQ(StepSpan::parse("0:12").last, 12);
    for (const char* const text :
         {"", ":", "3:", ":3", "a", "1:2:3", "-1", "5:4", "1 "}) {
        EXPECT_THROW(StepSpan::parse(text), Error) << text;
    }
}

}  // namespace
}  // namespace metatrain_timing::analyzer
