#include "recorder/core/src/names.hpp"

#include <gtest/gtest.h>

#include <string>

#include "recorder/core/src/utf8.hpp"

namespace metatrain_timing::detail {
namespace {

TEST(Names, CountFromOneInTheOrderTheyAreSeen) {
    Names names;
    EXPECT_EQ(names.intern("forward"), 1);
    EXPECT_EQ(names.intern("backward"), 2);
    EXPECT_EQ(names.intern("forward"), 1);
    EXPECT_EQ(names.name(2), "backward");
}

TEST(Names, TenThousandStayApart) {
    Names names;
    for (int index = 1; index <= 10'000; ++index) {
        ASSERT_EQ(names.intern("transforms/" + std::to_string(index)), index);
    }
    EXPECT_EQ(names.intern("transforms/77"), 77);
    EXPECT_EQ(names.name(9'999), "transforms/9999");
}

TEST(Names, EndWhereANumberOfARecordEnds) {
    Names names;
    for (std::size_t index = 1; index <= Names::kMaxCount; ++index) {
        ASSERT_NE(names.intern(std::to_string(index)), 0);
    }
    EXPECT_EQ(names.intern("one more"), 0);
    EXPECT_EQ(names.intern("65535"), 65'535);
}

TEST(Names, AMegabyteIsCut) {
    Names names;
    const auto number = names.intern(std::string(1'000'000, 'x'));
    EXPECT_EQ(names.name(number), std::string(255, 'x'));
}

TEST(Utf8, IsCutBetweenCharacters) {
    EXPECT_EQ(to_utf8("aé", 3), "aé");
    EXPECT_EQ(to_utf8("aé", 2), "a");
    EXPECT_EQ(to_utf8("日本", 5), "日");
}

TEST(Utf8, KeepsWhatIsValid) {
    EXPECT_EQ(to_utf8("collate \U0001F680 é", 255), "collate \U0001F680 é");
    EXPECT_EQ(to_utf8("", 255), "");
}

TEST(Utf8, ReplacesEachByteThatIsNot) {
    const std::string mark = "\xEF\xBF\xBD";
    EXPECT_EQ(to_utf8("a\xFFz", 255), "a" + mark + "z");
    EXPECT_EQ(to_utf8("\xC3", 255), mark);                        // cut short
    EXPECT_EQ(to_utf8("\xC0\xAF", 255), mark + mark);             // overlong
    EXPECT_EQ(to_utf8("\xED\xA0\x80", 255), mark + mark + mark);  // surrogate
    EXPECT_EQ(to_utf8("\xF4\x90\x80\x80", 255), mark + mark + mark + mark);
    EXPECT_EQ(to_utf8(std::string("a\0b", 3), 255), "a" + mark + "b");
}

}  // namespace
}  // namespace metatrain_timing::detail
