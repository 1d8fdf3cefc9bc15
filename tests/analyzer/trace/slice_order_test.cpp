#include "analyzer/trace/slice_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace metatrain_timing::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Interval interval(std::int64_t start_ns, std::int64_t dur_ns, std::uint16_t depth) {
    Interval one;
    one.start_ns = start_ns;
    one.dur_ns = dur_ns;
    one.depth = depth;
    return one;
}

class SliceOrderTest : public testing::Test {
  protected:
    auto sink() {
        return [this](const TrackTarget& at, const SliceOrder::Row& row) {
            shown_.emplace_back(at.track, row.interval.start_ns);
        };
    }
    void add(std::size_t track, const Interval& one) {
        order_.add({0, track}, one, -1, sink());
    }

    SliceOrder order_;
    std::vector<std::pair<std::size_t, std::int64_t>> shown_;
};

TEST_F(SliceOrderTest, WhatEnclosesComesFirst) {
    add(0, interval(10, 5, 1));
    add(0, interval(22, 3, 2));
    add(0, interval(20, 10, 1));
    EXPECT_THAT(shown_, IsEmpty());
    add(0, interval(10, 30, 0));  // begins when the first one in it does
    EXPECT_THAT(shown_, ElementsAre(std::pair(0, 10), std::pair(0, 10),
                                    std::pair(0, 20), std::pair(0, 22)));
}

TEST_F(SliceOrderTest, ThreadsDoNotWaitForEachOther) {
    add(0, interval(10, 5, 1));
    add(1, interval(12, 5, 0));
    EXPECT_THAT(shown_, ElementsAre(std::pair(1, 12)));
    order_.finish(sink());  // the outermost one of thread 0 is not on record
    EXPECT_THAT(shown_, ElementsAre(std::pair(1, 12), std::pair(0, 10)));
}

TEST_F(SliceOrderTest, AVeryLongOneKeepsNoMoreThanAStretch) {
    constexpr std::int64_t kCount = 600'000;
    for (std::int64_t i = 1; i <= kCount; ++i) {
        add(0, interval(i, 1, 1));
    }
    EXPECT_GT(shown_.size(), 500'000U);
    add(0, interval(0, 2 * kCount, 0));
    EXPECT_EQ(shown_.size(), 600'001U);
}

}  // namespace
}  // namespace metatrain_timing::analyzer
