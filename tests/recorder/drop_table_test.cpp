#include "recorder/core/src/drop_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <thread>

namespace metatrain_timing::detail {
namespace {

constexpr std::int64_t kTop = DroppedSums::kTop;

Record interval(std::uint16_t stage, std::int64_t start_ns, std::int64_t dur_ns,
                std::uint32_t iterator = kUnknown, std::uint8_t depth = 0) {
    Record record;
    record.start_ns = start_ns;
    record.payload = static_cast<std::uint64_t>(dur_ns);
    record.label.context.iterator = iterator;
    record.label.name = stage;
    record.label.depth = depth;
    return record;
}

Record counted(std::uint16_t counter, double value, std::uint32_t iterator = kUnknown) {
    Record record;
    record.payload = std::bit_cast<std::uint64_t>(value);
    record.label.context.iterator = iterator;
    record.label.name = counter;
    record.label.kind = RecordKind::counter;
    return record;
}

class DropTableTest : public testing::Test {
  protected:
    void open(std::uint16_t stage, std::uint32_t iterator) {
        OpenFrame frame;
        frame.words =
            label_words({.iterator = iterator}, stage, 0, RecordKind::interval);
        frame.serial = 1;
        open_.push(frame);
    }

    bool add(const Record& record, std::int64_t cpu_ns = -1) {
        return table_->add_interval(record, cpu_ns, open_);
    }

    OpenStack open_;
    std::unique_ptr<DropTable> table_ = std::make_unique<DropTable>();
};

TEST_F(DropTableTest, SumsIntervalsByTheirPathOfStages) {
    EXPECT_TRUE(add(interval(3, 100, 10)));
    open(1, 7);
    open(2, 8);
    EXPECT_TRUE(add(interval(3, 300, 30, 8, 2), 20));
    EXPECT_TRUE(add(interval(3, 200, 5, 8, 2)));
    EXPECT_TRUE(add(interval(3, 250, 1, 8, 2), 1));
    open_.pop();
    EXPECT_TRUE(add(interval(2, 190, 150, 8, 1)));

    const DroppedSums sums = table_->read();
    ASSERT_EQ(sums.intervals.size(), 4U);
    const auto& alone = sums.intervals[0];
    EXPECT_EQ(alone.parent, kTop);
    EXPECT_EQ(alone.stage, 3);
    EXPECT_EQ(alone.iterator, kUnknown);
    EXPECT_EQ(alone.sums.calls, 1);
    EXPECT_EQ(alone.sums.total_ns, 10);
    EXPECT_EQ(alone.sums.cpu_calls, 0);
    const auto& outer = sums.intervals[1];
    EXPECT_EQ(outer.parent, kTop);
    EXPECT_EQ(outer.stage, 1);
    EXPECT_EQ(outer.iterator, 7U);
    EXPECT_EQ(outer.sums.calls, 0);
    const auto& middle = sums.intervals[2];
    EXPECT_EQ(middle.parent, outer.node);
    EXPECT_EQ(middle.stage, 2);
    EXPECT_EQ(middle.iterator, 8U);
    EXPECT_EQ(middle.sums.calls, 1);
    EXPECT_EQ(middle.sums.total_ns, 150);
    const auto& inner = sums.intervals[3];
    EXPECT_EQ(inner.parent, middle.node);
    EXPECT_EQ(inner.stage, 3);
    EXPECT_EQ(inner.sums.calls, 3);
    EXPECT_EQ(inner.sums.total_ns, 36);
    EXPECT_EQ(inner.sums.cpu_calls, 2);
    EXPECT_EQ(inner.sums.cpu_ns, 21);
    EXPECT_EQ(inner.sums.cpu_wall_ns, 31);
    EXPECT_EQ(inner.sums.first_ns, 200);
    EXPECT_EQ(inner.sums.last_ns, 330);
}

TEST_F(DropTableTest, SumsCountersByTheirPass) {
    EXPECT_TRUE(table_->add_counter(counted(1, 2.5, 4)));
    EXPECT_TRUE(table_->add_counter(counted(1, 0.5, 4)));
    EXPECT_TRUE(table_->add_counter(counted(1, -8, 5)));
    const DroppedSums sums = table_->read();
    ASSERT_EQ(sums.counters.size(), 2U);
    EXPECT_EQ(sums.counters[0].iterator, 4U);
    EXPECT_EQ(sums.counters[0].sums.calls, 2);
    EXPECT_EQ(sums.counters[0].sums.value, 3.0);
    EXPECT_EQ(sums.counters[1].sums.calls, 1);
    EXPECT_EQ(sums.counters[1].sums.value, -8.0);
}

TEST_F(DropTableTest, WhatWouldNotFitIntoASumIsNotSummed) {
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    EXPECT_TRUE(add(interval(1, 0, kHuge)));
    EXPECT_FALSE(add(interval(1, 0, 1)));
    EXPECT_FALSE(add(interval(2, kHuge, 1)));
    EXPECT_FALSE(add(interval(2, 0, -1)));
    EXPECT_TRUE(table_->add_counter(counted(1, std::numeric_limits<double>::max())));
    EXPECT_FALSE(table_->add_counter(counted(1, std::numeric_limits<double>::max())));
    const DroppedSums sums = table_->read();
    EXPECT_EQ(sums.intervals.at(0).sums.calls, 1);
    EXPECT_EQ(sums.intervals.at(0).sums.total_ns, kHuge);
    EXPECT_EQ(sums.intervals.at(1).sums.calls, 0);
    EXPECT_EQ(sums.counters.at(0).sums.calls, 1);
}

// Each pass takes a node.
TEST_F(DropTableTest, WithoutAReaderThePassesBeyondItsRoomAreSummedAsUnknown) {
    for (std::uint32_t pass = 1; pass <= 1000; ++pass) {
        EXPECT_TRUE(add(interval(1, pass, 10, pass)));
    }
    const DroppedSums sums = table_->read();
    ASSERT_EQ(sums.intervals.size(), 2 * DropTable::kNodesOfPasses + 1);
    for (std::uint32_t pass = 1; pass <= 2 * DropTable::kNodesOfPasses; ++pass) {
        EXPECT_EQ(sums.intervals[pass - 1].iterator, pass);
        EXPECT_EQ(sums.intervals[pass - 1].sums.total_ns, 10);
    }
    const auto& rest = sums.intervals.back();
    EXPECT_EQ(rest.iterator, kUnknown);
    EXPECT_EQ(rest.sums.calls, 1000 - 2 * 72);
    EXPECT_EQ(rest.sums.total_ns, 10 * (1000 - 2 * 72));
}

TEST_F(DropTableTest, WithoutAReaderCountersOfLaterPassesAreSummedAsUnknown) {
    for (std::uint32_t pass = 1; pass <= 100; ++pass) {
        EXPECT_TRUE(table_->add_counter(counted(1, 3, pass)));
    }
    const DroppedSums sums = table_->read();
    ASSERT_EQ(sums.counters.size(), 2 * DropTable::kCountersOfPasses + 1);
    EXPECT_EQ(sums.counters.front().iterator, 1U);
    EXPECT_EQ(sums.counters.front().sums.value, 3);
    EXPECT_EQ(sums.counters.back().iterator, kUnknown);
    EXPECT_EQ(sums.counters.back().sums.value, 3 * (100 - 2 * 24));
}

TEST_F(DropTableTest, WithoutAReaderStagesBeyondItsRoomAreNotSummed) {
    std::int64_t summed_count = 0;
    for (std::uint16_t stage = 1; stage <= 500; ++stage) {
        summed_count += add(interval(stage, 0, 1, 9)) ? 1 : 0;
    }
    // Two generations with passes, and in the second one those kept for unknown ones.
    EXPECT_EQ(summed_count, 72 + 96);
    EXPECT_TRUE(add(interval(100, 0, 1, 9)));  // what has a node goes on being summed
    EXPECT_FALSE(add(interval(400, 0, 1, 9)));
}

TEST_F(DropTableTest, WithAReaderNoPassIsEverUnknown) {
    std::map<std::int64_t, std::pair<std::uint32_t, std::int64_t>> rows;  // by node
    for (std::uint32_t pass = 1; pass <= 1000; ++pass) {
        EXPECT_TRUE(add(interval(1, pass, 10, pass)));
        EXPECT_TRUE(add(interval(1, pass, 10, pass)));
        if (pass % 50 == 0) {
            const DroppedSums sums = table_->read();
            for (const auto& node : sums.intervals) {
                const auto known = rows.try_emplace(node.node, node.iterator, 0).first;
                EXPECT_EQ(known->second.first, node.iterator);
                EXPECT_GE(node.sums.total_ns, known->second.second);
                known->second.second = node.sums.total_ns;
            }
            table_->acknowledge(sums.generation);
        }
    }
    EXPECT_EQ(rows.size(), 1000U);
    for (const auto& [node, row] : rows) {
        EXPECT_NE(row.first, kUnknown);
        EXPECT_EQ(row.second, 20);
    }
}

TEST_F(DropTableTest, WhatWasReadBeforeAnAcknowledgementIsReadAgainUntilThen) {
    for (std::uint32_t pass = 1; pass <= 100; ++pass) {
        add(interval(1, 0, 1, pass));
    }
    EXPECT_EQ(table_->read().intervals.size(), 100U);
    const DroppedSums again = table_->read();
    EXPECT_EQ(again.intervals.size(), 100U);
    table_->acknowledge(again.generation);
    EXPECT_EQ(table_->read().intervals.size(), 100U - 72);  // what may still grow
}

TEST_F(DropTableTest, AClearedOneIsEmpty) {
    for (std::uint32_t pass = 1; pass <= 100; ++pass) {
        add(interval(1, 0, 1, pass));
        table_->add_counter(counted(1, 1, pass));
    }
    table_->clear();
    const DroppedSums sums = table_->read();
    EXPECT_TRUE(sums.intervals.empty());
    EXPECT_TRUE(sums.counters.empty());
    EXPECT_TRUE(add(interval(2, 0, 5, 3)));
    EXPECT_EQ(table_->read().intervals.at(0).sums.total_ns, 5);
}

TEST_F(DropTableTest, AReaderSeesWholeSums) {
    std::atomic<bool> is_over = false;
    std::thread reader([&] {
        std::int64_t before = 0;
        while (!is_over.load()) {
            const DroppedSums sums = table_->read();
            for (const auto& node : sums.intervals) {
                EXPECT_EQ(node.sums.total_ns, 3 * node.sums.calls);
                EXPECT_EQ(node.sums.cpu_ns, 2 * node.sums.calls);
                EXPECT_EQ(node.sums.cpu_calls, node.sums.calls);
                EXPECT_GE(node.sums.calls, before);
                before = node.sums.calls;
            }
        }
    });
    for (int round = 0; round < 100'000; ++round) {
        add(interval(1, 0, 3), 2);
    }
    is_over = true;
    reader.join();
    EXPECT_EQ(table_->read().intervals.at(0).sums.calls, 100'000);
}

// Whatever its bytes are.
TEST_F(DropTableTest, ADamagedOneGivesPossibleNodesAlone) {
    open(1, 1);
    add(interval(2, 0, 7, 1, 1), 3);
    table_->add_counter(counted(1, 1));
    std::array<std::byte, sizeof(DropTable)> whole{};
    std::memcpy(whole.data(), static_cast<const void*>(table_.get()), whole.size());
    std::size_t given_count = 0;
    for (std::size_t offset = 0; offset < whole.size(); ++offset) {
        for (const int byte : {0x01, 0x80, 0xFF}) {
            auto damaged = whole;
            damaged[offset] ^= static_cast<std::byte>(byte);
            std::memcpy(static_cast<void*>(table_.get()), damaged.data(),
                        damaged.size());
            const DroppedSums sums = table_->read();
            EXPECT_LE(sums.intervals.size(), 2 * DropTable::kNodes);
            EXPECT_LE(sums.counters.size(), 2 * DropTable::kCounters);
            std::int64_t last = kTop;
            for (const auto& node : sums.intervals) {
                ++given_count;
                EXPECT_GT(node.node, last);
                EXPECT_LT(node.parent, node.node);
                EXPECT_GE(node.sums.calls, 0);
                EXPECT_GE(node.sums.total_ns, 0);
                EXPECT_GE(node.sums.cpu_ns, 0);
                EXPECT_LE(node.sums.cpu_wall_ns, node.sums.total_ns);
                EXPECT_NE(node.stage, 0);
                last = node.node;
            }
        }
        if (offset == 4096) {
            offset = whole.size() - 4096;  // what lies between is as what lies before
        }
    }
    EXPECT_GT(given_count, 10'000U);
}

}  // namespace
}  // namespace metatrain_timing::detail
