#include "analyzer/trace/trace_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "analyzer/error.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TraceReaderTest : public testing::Test {
  protected:
    TraceEnd read(const std::string& text) {
        events_.clear();
        std::ofstream(path_) << text;
        return read_trace(path_,
                          [&](const TraceEvent& event) { events_.push_back(event); });
    }

    std::string error_of(const std::string& text) {
        try {
            read(text);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    test::TempFolder folder_;
    const std::string path_ = folder_ / "trace.json";
    std::vector<TraceEvent> events_;
};

TEST_F(TraceReaderTest, ReadsEventsAndWhatStandsBesideThem) {
    const TraceEnd end = read(R"({
        "schemaVersion": 1, "distributedInfo": {"rank": 3, "backend": "gloo"},
        "traceEvents": [
            {"ph": "X", "name": "forward", "cat": "user_annotation", "pid": 7,
             "tid": "main", "ts": 10.5, "dur": 2, "args": {"step": 4, "deep": {"a": 1}}},
            {"ph": "M"}
        ],
        "metadata": {"list": [1, [2, "x"], true, null], "empty": {}}
    })");
    ASSERT_THAT(events_, SizeIs(2));
    EXPECT_EQ(events_[0].phase, 'X');
    EXPECT_EQ(events_[0].name, "forward");
    EXPECT_EQ(events_[0].category, "user_annotation");
    EXPECT_EQ(events_[0].pid, "7");
    EXPECT_EQ(events_[0].tid, "main");
    EXPECT_EQ(events_[0].ts_ns, 10'500);
    EXPECT_EQ(events_[0].dur_ns, 2'000);
    EXPECT_THAT(events_[0].args, ElementsAre(std::pair("step", "4")));
    EXPECT_EQ(events_[1].phase, 'M');
    EXPECT_EQ(events_[1].ts_ns, std::nullopt);
    EXPECT_THAT(events_[1].args, IsEmpty());
    EXPECT_EQ(end.event_count, 2U);
    EXPECT_EQ(end.damage, "");
    EXPECT_EQ(end.members, Json::parse(R"({
        "schemaVersion": "1", "distributedInfo": {"rank": "3", "backend": "gloo"},
        "metadata": {"list": ["1", ["2", "x"], true, null], "empty": {}}})"));
}

TEST_F(TraceReaderTest, AnArrayOfEventsNeedsNoEnd) {
    EXPECT_EQ(read(R"([{"ph": "X", "name": "a"}, {"ph": "X", "name": "b"}])").damage,
              "");
    EXPECT_THAT(events_, SizeIs(2));
    // Writers append as they go, and leave the last comma.
    EXPECT_EQ(read(R"([{"ph": "X", "name": "a"},])").damage, "");
    const TraceEnd end = read(R"([{"ph": "X", "name": "a"}, {"ph": "X", "na)");
    EXPECT_THAT(events_, SizeIs(1));
    EXPECT_THAT(end.damage, HasSubstr("at byte"));
}

TEST_F(TraceReaderTest, OneThatIsCutOffIsReadAsFarAsItGoes) {
    const std::string whole =
        R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "args": {"b": [1]}}]})";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string cut = whole.substr(0, size);
        if (size < whole.find("]}}") + 3) {
            EXPECT_THAT(error_of(cut), HasSubstr("no Chrome trace")) << cut;
        } else {
            EXPECT_NE(read(cut).damage, "") << cut;
            EXPECT_THAT(events_, SizeIs(1));
        }
    }
}

TEST_F(TraceReaderTest, OddMembersHurtNobody) {
    const TraceEnd end = read(R"({"traceEvents": [
        {"ph": "X", "name": "huge", "ts": 1e300, "dur": 123456789012345678901234567890},
        {"ph": "", "name": null, "pid": {"a": 1}, "ts": "soon", "dur": NaN},
        {"args": {"args": {"ts": 5}, "name": [1, {"ph": "X"}]}}, 17, "text", [], null, {}
    ]})");
    EXPECT_EQ(end.damage, "");
    EXPECT_EQ(end.event_count, 5U);  // a list counts as one that says nothing
    EXPECT_EQ(events_[0].ts_ns, std::nullopt);
    EXPECT_EQ(events_[0].dur_ns, std::nullopt);
    EXPECT_EQ(events_[1].phase, '\0');
    EXPECT_EQ(events_[1].pid, "");
    EXPECT_THAT(events_[2].args, IsEmpty());
    EXPECT_EQ(events_[2].ts_ns, std::nullopt);
}

TEST_F(TraceReaderTest, DeepNestingBesideTheEventsEndsIt) {
    const TraceEnd end = read(R"([{"ph": "X", "name": "a"}])");
    EXPECT_EQ(end.event_count, 1U);
    const std::string deep(300'000, '[');
    const TraceEnd cut =
        read(R"({"traceEvents": [{"ph": "X", "name": "a"}], "deep": )" + deep);
    EXPECT_EQ(cut.event_count, 1U);
    EXPECT_THAT(cut.damage, HasSubstr("at byte"));
}

TEST_F(TraceReaderTest, CompressedOnesAreReadAsTheyAre) {
    const std::string text = R"([{"ph": "X", "name": "a"}])";
    const std::string path = folder_ / "trace.json.gz";
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    std::size_t count = 0;
    read_trace(path, [&](const TraceEvent&) { ++count; });
    EXPECT_EQ(count, 1U);
}

TEST_F(TraceReaderTest, WhatIsNoTraceIsOneLine) {
    for (const char* const text : {"", "hello", "{}", "[]", "{\"traceEvents\": []}",
                                   "\x1f\x8b\x08broken", "[[[[[[[["}) {
        const std::string error = error_of(text);
        EXPECT_THAT(error, HasSubstr("no Chrome trace: ")) << text;
        EXPECT_EQ(error.find('\n'), std::string::npos);
    }
    EXPECT_THROW(read_trace(folder_ / "none", [](const TraceEvent&) {}), Error);
    EXPECT_THROW(read_trace(folder_.path(), [](const TraceEvent&) {}), Error);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
