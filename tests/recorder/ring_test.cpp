#include "recorder/core/src/ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace metatrain_timing::detail {
namespace {

std::unique_ptr<ThreadArea> make_area() {
    return std::make_unique<ThreadArea>();  // zeros
}

bool append(Ring& ring, std::int64_t start_ns) {
    if (!ring.has_room(1)) {
        return false;
    }
    ring.cell().start_ns = start_ns;
    ring.publish();
    return true;
}

TEST(Ring, HoldsItsCapacityAndNoMore) {
    const auto area = make_area();
    Ring ring(*area);
    for (std::size_t index = 0; index < Ring::kCapacity; ++index) {
        ASSERT_TRUE(append(ring, static_cast<std::int64_t>(index)));
    }
    EXPECT_FALSE(append(ring, -1));
    EXPECT_EQ(ring.head() - ring.tail(), Ring::kCapacity);
    ring.release_to(1);
    EXPECT_TRUE(append(ring, 8192));
    EXPECT_FALSE(append(ring, -1));
    EXPECT_EQ(ring.at(1).start_ns, 1);
    EXPECT_EQ(ring.at(8192).start_ns, 8192);
}

TEST(Ring, APairNeedsTwoCells) {
    const auto area = make_area();
    Ring ring(*area);
    while (ring.head() < Ring::kCapacity - 1) {
        append(ring, 0);
    }
    EXPECT_FALSE(ring.has_room(2));
    EXPECT_TRUE(ring.has_room(1));
}

TEST(Ring, IsHalfFullFromHalfItsCapacityOn) {
    const auto area = make_area();
    Ring ring(*area);
    while (ring.head() < Ring::kCapacity / 2 - 1) {
        append(ring, 0);
    }
    EXPECT_FALSE(ring.half_full());
    append(ring, 0);
    EXPECT_TRUE(ring.half_full());
    ring.release_to(ring.head());
    append(ring, 0);
    EXPECT_FALSE(ring.half_full());
}

TEST(Ring, HandsRecordsOverBetweenThreadsInOrder) {
    constexpr std::int64_t kRecords = 200'000;
    const auto area = make_area();
    Ring ring(*area);
    std::thread producer([&ring] {
        for (std::int64_t next = 0; next < kRecords;) {
            next += append(ring, next) ? 1 : 0;
        }
    });
    std::int64_t expected = 0;
    while (expected < kRecords) {
        const std::uint64_t head = ring.head();
        for (std::uint64_t position = ring.tail(); position != head; ++position) {
            ASSERT_EQ(ring.at(position).start_ns, expected++);
        }
        ring.release_to(head);
    }
    producer.join();
}

TEST(Record, PacksWhatIsUnknownOrTooBigAsUnknown) {
    EXPECT_EQ(pack(std::int64_t{-1}), kUnknown);
    EXPECT_EQ(pack(std::int64_t{4'294'967'295}), kUnknown);
    EXPECT_EQ(pack(std::int64_t{4'294'967'294}), 4'294'967'294U);
    const Context context =
        unpack(pack(Context{.iterator = 3, .batch = -1, .step = 0}));
    EXPECT_EQ(context.iterator, 3);
    EXPECT_EQ(context.batch, -1);
    EXPECT_EQ(context.step, 0);
}

}  // namespace
}  // namespace metatrain_timing::detail
