#include "analyzer/render/report_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/analyzer/render/training_scene.hpp"
#include "tests/support/summed_run.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::TrainingScene;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string scene_text(const ReportView& view = {}, TextStyle style = {}) {
    const auto run = TrainingScene().build();
    return report_text(make_report(Findings(run)), style, view);
}

// The first line with `label` at its begin (after spaces), its spaces run together.
std::string line_of(const std::string& text, const std::string& label) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string joined;
        for (std::string word; words >> word;) {
            joined += (joined.empty() ? "" : " ") + word;
        }
        if (joined.starts_with(label)) {
            return joined;
        }
    }
    return "no line begins with " + label;
}

std::string section_of(const std::string& text, const std::string& title) {
    const std::size_t begin = text.find(title);
    return begin == std::string::npos
               ? ""
               : text.substr(begin, text.find("\n\n", begin) - begin);
}

TEST(ReportText, BeginsWithTheRunAndTheVerdict) {
    EXPECT_THAT(scene_text(), StartsWith("run 0123abcd  2026-11-29 "));
    EXPECT_THAT(
        scene_text(),
        HasSubstr("  host  1 rank\nmtt train options.yaml\n\nPartly input-bound: 14 % "
                  "of the time after warm-up is waiting for data: 8.00 ms\nof a 100 ms "
                  "step, and 370 ms from one epoch to the next."));
}

TEST(ReportText, ShowsTheWaitsOfEachEpochWhenAskedFor) {
    EXPECT_EQ(section_of(scene_text(), "WAITS BY EPOCH"), "");
    const std::string table = section_of(scene_text({"", true}), "WAITS BY EPOCH");
    EXPECT_EQ(line_of(table, "epoch"),
              "epoch waits, ms ready fetch worker_start main worker_idle rest");
    EXPECT_EQ(line_of(table, "0 "), "0 492.0 187.0 150.0 100.0 25.0 20.0 10.0");
}

TEST(ReportText, ShowsWhereASteadyStepGoes) {
    const std::string table = section_of(scene_text(), "WHERE A TRAINING STEP GOES");
    EXPECT_THAT(table,
                HasSubstr("50 complete steps, 2 epochs; shown: 48 steady ones from "
                          "step 1 on"));
    EXPECT_EQ(line_of(table, "loader"), "loader: waiting for data 8.0 8.0 % 8.0 8.0");
    EXPECT_EQ(line_of(table, "step: "), "step: using it 92.0 92.0 % 92.0 92.0");
    EXPECT_EQ(line_of(table, "backward"), "backward 50.0 50.0 % 50.0 50.0");
    EXPECT_EQ(line_of(table, "unattributed"), "unattributed 5.0 5.0 % 5.0 5.0");
    EXPECT_EQ(line_of(table, "one step"), "one step 100.0 100 % 100.0 100.0");
}

TEST(ReportText, ShowsWhatABatchCostsTheWorkers) {
    const std::string table = section_of(scene_text(), "INSIDE THE WORKERS");
    EXPECT_THAT(table, HasSubstr("50 batches in 4 lives of 2 workers"));
    EXPECT_THAT(line_of(table, "fetch"), StartsWith("fetch 150.0 "));
    EXPECT_THAT(line_of(table, "collate"), StartsWith("collate 128.0 "));
    EXPECT_THAT(line_of(table, "rotate"), StartsWith("rotate 50.0 "));
    EXPECT_THAT(line_of(table, "get_remove_scale_transform.transform"),
                StartsWith("get_remove_scale_transform.transform 15.0 "));
    EXPECT_THAT(line_of(table, "send"), StartsWith("send (beside, own thread) 10.0 "));
    EXPECT_THAT(line_of(table, "worker life"), testing::EndsWith(" 100 %"));
}

TEST(ReportText, ClosesTheTimeOfTheTraining) {
    // 48 x 100 + 2 x 300 + 2 x 92 + 2 x 40 = 5664
    const std::string table = section_of(scene_text(), "WHERE THE TRAINING TIME GOES");
    EXPECT_THAT(
        table,
        HasSubstr("400 structures (71.6/s, 14.0 ms each; 8 in a batch); starting the "
                  "workers before\nthat: 60.0"));
    EXPECT_EQ(line_of(table, "steady"), "steady steps (48) 4.80 84.7 %");
    EXPECT_EQ(line_of(table, "waits"), "waits for first batches (2) 0.60 10.6 %");
    EXPECT_EQ(line_of(table, "first steps"), "first steps, not steady yet 0.18 3.2 %");
    EXPECT_EQ(line_of(table, "ends"), "ends of epochs 0.08 1.4 %");
    EXPECT_EQ(line_of(table, "unattributed"), "unattributed 0.00 0 %");
    EXPECT_EQ(line_of(table, "all epochs"), "all epochs 5.66 100 %");
}

TEST(ReportText, ShowsTheStartOfEachEpoch) {
    const std::string table = section_of(scene_text(), "EPOCH STARTS");
    EXPECT_THAT(table, HasSubstr("making workers, ms  first wait, ms"));
    EXPECT_EQ(line_of(table, "0 "), "0 30.0 300.0");
    EXPECT_EQ(line_of(table, "1 "), "1 30.0 300.0");
    EXPECT_EQ(line_of(table, "mean"), "mean of 2 30.0 300.0");
    EXPECT_EQ(section_of(scene_text({"evaluation", false}), "EPOCH STARTS"), "");
}

TEST(ReportText, ClosesTheWaits) {
    const std::string table = section_of(scene_text(), "WHY IT WAITS");
    EXPECT_THAT(table, HasSubstr("exposed wait, all steps: 984 ms, 17 % of the time"));
    EXPECT_EQ(line_of(table, "worker: starting"), "worker: starting 200.0 20.3 %");
    EXPECT_THAT(line_of(table, "unattributed"), StartsWith("unattributed "));
    EXPECT_EQ(line_of(table, "all waits"), "all waits 984.0 100 %");
}

TEST(ReportText, KeepsOtherLoopsApart) {
    const std::string table = section_of(scene_text(), "OTHER LOOPS");
    EXPECT_EQ(line_of(table, "evaluation"),
              "evaluation valid_set 2 6 240.0 25.0 % 40.0");
    EXPECT_EQ(line_of(table, "before-training"),
              "before-training fit_set 1 4 60.0 66.7 % 15.0");
}

TEST(ReportText, ShowsWhatOtherThreadsDo) {
    test::ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 1), "train");
    for (int turn = 0; turn < 2; ++turn) {
        const int at = 100 * turn;
        builder.add(builder.main(), "loader", at, at + 10, {pass, turn, turn});
        builder.add(builder.main(), "step", at + 10, at + 100, {pass, turn, turn});
        builder.add(builder.main(), "pin", at + 3, at + 7, {pass, turn}, "pt_data_pin");
    }
    const auto run = builder.build();

    const std::string text = report_text(make_report(Findings(run)), {}, {});

    EXPECT_EQ(line_of(section_of(text, "BESIDE THE LOOP"), "pin"),
              "pin pin 4.00 4.00 4.00");
    EXPECT_THAT(scene_text(), Not(HasSubstr("BESIDE THE LOOP")));
}

TEST(ReportText, ShowsAnotherPhaseInFullOnDemand) {
    const std::string text = scene_text({"evaluation", false});
    EXPECT_THAT(text,
                HasSubstr("WHERE A STEP OF \"evaluation\" GOES\n6 complete steps"));
    EXPECT_EQ(line_of(text, "fetch"), "fetch 8.0 20.0 % 8.0 8.0");
    EXPECT_THAT(text, Not(HasSubstr("TRAINING STEP")));
}

TEST(ReportText, FitsTheWidthOfTheTerminal) {
    for (const std::size_t width : {80U, 100U}) {
        TextStyle style;
        style.width = width;
        std::istringstream lines(scene_text({}, style));
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(display_width(line), width) << line;
        }
    }
}

TEST(ReportText, SaysSoWhereThereIsNoCompleteStep) {
    test::ModelBuilder builder;
    const auto pass = builder.iterator(builder.loader(builder.main(), "data", 0),
                                       "evaluation", false);
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add_open(builder.main(), "step", 10, {pass, 0, 0});
    builder.add_open(builder.main(), "forward", 11, {pass, 0, 0});
    const auto run = builder.build();

    const std::string text = report_text(make_report(Findings(run)), {}, {});

    EXPECT_THAT(text, HasSubstr("0 complete steps, 1 partial"));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf")));
}

TEST(ReportText, OfARunBeyondItsSizeLimitIsOfAllStepsAndSaysWhatIsNot) {
    const auto run = test::summed(TrainingScene().build(),
                                  [](int, int batch) { return batch < 10; });
    const std::string text = report_text(make_report(Findings(run)), {}, {});
    const std::string steps = section_of(text, "WHERE A TRAINING STEP GOES");
    EXPECT_THAT(steps, HasSubstr("50 complete steps, 2 epochs; shown: all, median and "
                                 "p95 of the 18 on record"));
    // 2 waits of 300 and 48 of 8; those on record one by one take 8
    EXPECT_EQ(line_of(steps, "loader"), "loader: waiting for data 19.7 17.6 % 8.0 8.0");
    EXPECT_EQ(line_of(steps, "step"), "step: using it 92.0 82.4 % 92.0 92.0");
    EXPECT_EQ(line_of(steps, "one step"), "one step 111.7 100 % 100.0 100.0");
    EXPECT_THAT(section_of(text, "INSIDE THE WORKERS"), HasSubstr("50 batches in 4"));
    EXPECT_THAT(section_of(text, "WHY IT WAITS"),
                HasSubstr("estimated from the waits on"));
    EXPECT_EQ(line_of(text, "steps (50)"), "steps (50) 4.98 88.0 %");
    EXPECT_EQ(line_of(text, "first steps"), "no line begins with first steps");
}

TEST(ReportText, EscapesNamesFromFiles) {
    test::ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "evil\x1b[2J", 0), "train");
    builder.add(builder.main(), "loader", 0, 10, {pass, 0, 0});
    builder.add(builder.main(), "step", 10, 20, {pass, 0, 0});
    builder.add(builder.main(), "wipe\x1b[2J\n", 11, 19, {pass, 0, 0});
    builder.run().command = "python \x1b]0;x\x07";
    builder.run().host = "h\r";
    builder.run().processes.front().environment = {{"torch.version", "\x1b[31m"}};
    const auto run = builder.build();

    for (const bool verbose : {false, true}) {
        const std::string text =
            report_text(make_report(Findings(run)), {}, {"", verbose});
        EXPECT_THAT(text, Not(HasSubstr("\x1b")));
        EXPECT_THAT(text, Not(HasSubstr("\r")));
        EXPECT_THAT(text, HasSubstr("wipe\\x1b[2J\\n"));
    }
    EXPECT_THAT(report_markdown(make_report(Findings(run)), {}),
                Not(HasSubstr("\x1b")));
    EXPECT_THAT(report_csv(make_report(Findings(run)), {}), Not(HasSubstr("\x1b")));
}

TEST(ReportCsv, HasOneRowForEachStageOfEveryPhase) {
    const auto run = TrainingScene().build();
    const std::string csv = report_csv(make_report(Findings(run)), {});
    EXPECT_THAT(csv, StartsWith("phase,loader,where,stage,parent,calls,total_s,mean_s,"
                                "median_s,p95_s,share\n"));
    EXPECT_THAT(csv,
                HasSubstr("train,train_set,main,forward,step,50,1.5,0.03,0.03,0.03,"));
    EXPECT_THAT(csv, HasSubstr("train,train_set,worker,send,,50,0.5,0.01,0.01,0.01,"));
    EXPECT_THAT(csv, HasSubstr("evaluation,valid_set,main,fetch,loader,6,0.048,"));
}

TEST(ReportMarkdown, HasTheVerdictAndTheTables) {
    const auto run = TrainingScene().build();
    const std::string text = report_markdown(make_report(Findings(run)), {});
    EXPECT_THAT(text, StartsWith("**Partly input-bound: 14 % of the time"));
    EXPECT_THAT(text, HasSubstr("\n### Where a step goes\n\n|  | ms/step | share |"));
    EXPECT_THAT(text, HasSubstr("| one step | 100.0 | 100 % | 100.0 | 100.0 |"));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
