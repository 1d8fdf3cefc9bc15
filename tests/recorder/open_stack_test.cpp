#include "recorder/core/src/open_stack.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace metatrain_timing::detail {
namespace {

OpenFrame frame(std::uint32_t serial, std::int64_t start_ns) {
    OpenFrame made;
    made.serial = serial;
    made.start_ns = start_ns;
    made.words = label_words({1, 2, 3}, 4, 5, RecordKind::interval);
    return made;
}

TEST(OpenStack, PopsTheInnermostFirst) {
    OpenStack stack;
    stack.push(frame(7, 100));
    stack.push(frame(8, 200));
    EXPECT_EQ(stack.depth(), 2U);
    EXPECT_EQ(stack.pop().start_ns, 200);
    const OpenFrame outer = stack.pop();
    EXPECT_EQ(outer.start_ns, 100);
    EXPECT_EQ(outer.label().context.step, 1U);
    EXPECT_EQ(outer.label().context.batch, 2U);
    EXPECT_EQ(outer.label().context.iterator, 3U);
    EXPECT_EQ(outer.label().name, 4);
    EXPECT_EQ(outer.label().depth, 5);
    EXPECT_EQ(outer.label().kind, RecordKind::interval);
    EXPECT_EQ(stack.depth(), 0U);
}

TEST(OpenStack, HasCpuTimeOnlyWhereItIsMeasured) {
    OpenStack stack;
    OpenFrame measured = frame(7, 100);
    measured.words = label_words({}, 4, 0, RecordKind::interval_with_cpu);
    measured.cpu_start_ns = 50;
    stack.push(measured);
    EXPECT_TRUE(stack.top().has_cpu());
    EXPECT_EQ(stack.pop().cpu_start_ns, 50);
    stack.push(frame(8, 200));
    EXPECT_FALSE(stack.top().has_cpu());
    EXPECT_EQ(stack.pop().cpu_start_ns, -1);
}

TEST(OpenStack, KnowsByDepthAndSerialWhatIsOpen) {
    OpenStack stack;
    stack.push(frame(7, 100));
    EXPECT_TRUE(stack.is_open(0, 7));
    EXPECT_FALSE(stack.is_open(0, 6));
    EXPECT_FALSE(stack.is_open(1, 7));
    stack.pop();
    EXPECT_FALSE(stack.is_open(0, 7));
}

TEST(OpenStack, AnybodyMayLookAtWhatIsOpen) {
    OpenStack stack;
    EXPECT_FALSE(stack.peek(0));
    stack.push(frame(7, 100));
    ASSERT_TRUE(stack.peek(0));
    EXPECT_EQ(stack.peek(0)->start_ns, 100);
    EXPECT_FALSE(stack.peek(1));
}

TEST(OpenStack, ALookFromAnotherThreadNeverSeesHalfAFrame) {
    OpenStack stack;
    std::atomic<bool> done = false;
    std::thread owner([&] {
        for (std::uint32_t serial = 1; serial < 100'000; ++serial) {
            stack.push(frame(serial, 3 * std::int64_t{serial}));
            stack.pop();
        }
        done = true;
    });
    while (!done) {
        if (const auto seen = stack.peek(0)) {
            ASSERT_EQ(seen->start_ns, 3 * std::int64_t{seen->serial});
        }
    }
    owner.join();
}

}  // namespace
}  // namespace metatrain_timing::detail
