#include "analyzer/load/nesting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace metatrain_timing::test {
namespace {

using analyzer::Interval;
using analyzer::sort_and_nest;
using analyzer::Track;
using testing::ElementsAre;

struct Given {
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::uint16_t depth;
};

Track track_of(const std::vector<Given>& given) {
    Track track;
    for (const Given& one : given) {
        Interval interval;
        interval.start_ns = one.start_ns;
        interval.dur_ns = one.end_ns - one.start_ns;
        interval.depth = one.depth;
        track.intervals.push_back(interval);
    }
    return track;
}

std::vector<std::string> told(const Track& track) {
    std::vector<std::string> lines;
    for (const Interval& interval : track.intervals) {
        lines.push_back(std::to_string(interval.start_ns) + "-" +
                        std::to_string(interval.end_ns()) + "@" +
                        std::to_string(interval.depth));
    }
    return lines;
}

TEST(SortAndNest, TheOrderOfEndsBecomesTheOrderOfBegins) {
    Track track = track_of(
        {{10, 20, 1}, {35, 38, 2}, {30, 40, 1}, {0, 50, 0}, {60, 70, 1}, {50, 90, 0}});
    EXPECT_EQ(sort_and_nest(track), 0U);
    EXPECT_THAT(told(track), ElementsAre("0-50@0", "10-20@1", "30-40@1", "35-38@2",
                                         "50-90@0", "60-70@1"));
}

TEST(SortAndNest, OfIntervalsOfOneLengthTheOuterComesFirst) {
    Track track = track_of({{5, 5, 2}, {5, 5, 1}, {5, 5, 0}});
    sort_and_nest(track);
    EXPECT_THAT(told(track), ElementsAre("5-5@0", "5-5@1", "5-5@2"));
}

TEST(SortAndNest, TracksInNoOrderAtAllAreSortedToo) {
    Track track = track_of({{100, 110, 0}, {0, 50, 0}, {60, 70, 0}});
    EXPECT_EQ(sort_and_nest(track), 0U);
    EXPECT_THAT(told(track), ElementsAre("0-50@0", "60-70@0", "100-110@0"));
}

TEST(SortAndNest, AnIntervalEndsNoLaterThanTheOneItBeganIn) {
    Track track = track_of({{10, 30, 1}, {0, 20, 0}, {15, 40, 1}, {40, 50, 0}});
    EXPECT_EQ(sort_and_nest(track), 2U);
    EXPECT_THAT(told(track), ElementsAre("0-20@0", "10-20@1", "15-20@1", "40-50@0"));
}

TEST(SortAndNest, CpuTimesMoveWithTheirIntervals) {
    Track track = track_of({{10, 20, 1}, {0, 50, 0}});
    track.cpu_ns = {7, 9};
    sort_and_nest(track);
    EXPECT_THAT(track.cpu_ns, ElementsAre(9, 7));
}

}  // namespace
}  // namespace metatrain_timing::test
