#include "analyzer/trace/trace_event.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::analyzer {
namespace {

TEST(TraceEvent, MicrosecondsAreExactToTheNanosecond) {
    EXPECT_EQ(parse_us("0"), 0);
    EXPECT_EQ(parse_us("12"), 12'000);
    EXPECT_EQ(parse_us("1.5"), 1'500);
    EXPECT_EQ(parse_us("5223096426475.389"), 5'223'096'426'475'389);
    // Of 1970: a double has no nanoseconds left here.
    EXPECT_EQ(parse_us("1796080122003201.007"), 1'796'080'122'003'201'007);
    EXPECT_EQ(parse_us("0.0004"), 0);
    EXPECT_EQ(parse_us("0.0005"), 1);
    EXPECT_EQ(parse_us("-3.25"), -3'250);
    EXPECT_EQ(parse_us("1e3"), 1'000'000);
    EXPECT_EQ(parse_us("2.5E-1"), 250);
}

TEST(TraceEvent, WhatIsNoTimeIsNone) {
    for (const char* const text :
         {"", "a", "1.2.3", "1,5", "NaN", "Infinity", "1e400", "99999999999999999999",
          "1e16", "0x10", "--1", "1.2x"}) {
        EXPECT_EQ(parse_us(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace metatrain_timing::analyzer
