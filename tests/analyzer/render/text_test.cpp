#include "analyzer/render/text.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::test {
namespace {

using analyzer::display_width;
using analyzer::printable;

TEST(Printable, KeepsTextAndEscapesWhatMovesTheCursor) {
    EXPECT_EQ(printable("50% a#b é日"), "50% a#b é日");
    EXPECT_EQ(printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
    EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
    EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("\xc2\x9b"), "\\u009b");  // C1: the other escape
    EXPECT_EQ(printable("\xe2\x80\xaegpj.exe"), "\\u202egpj.exe");  // right to left
    EXPECT_EQ(printable("\xf3\xa0\x81\x81"), "\\U000e0041");  // an invisible letter
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
    EXPECT_EQ(printable("\xff"), "\\xff");
    EXPECT_EQ(printable("\xc3"), "\\xc3");                             // cut
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
    EXPECT_EQ(printable("\xe6\x97"
                        "a"),
              "\\xe6\\x97"
              "a");
}

TEST(Printable, EscapesEverythingBeyondAsciiWhereTheLocaleIsNotUtf8) {
    EXPECT_EQ(printable("é日\xf0\x9f\x98\x80", false), "\\u00e9\\u65e5\\U0001f600");
}

TEST(DisplayWidth, CountsCharacters) {
    EXPECT_EQ(display_width("abc"), 3U);
    EXPECT_EQ(display_width("é"), 1U);
    EXPECT_EQ(display_width(""), 0U);
}

}  // namespace
}  // namespace metatrain_timing::test
