#include "analyzer/render/table.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::test {
namespace {

using analyzer::Align;
using analyzer::Table;

Table stages() {
    Table table({{"stage"},
                 {"calls", Align::right, 2},
                 {"total", Align::right},
                 {"note", Align::left, 1}});
    table.add_row({"loader", "60", "1.5 s", "waits"});
    table.add_row({"  transforms/a_long_name", "1200", "3 s"});
    table.add_rule();
    table.add_row({"sum", "", "4.5 s", ""});
    return table;
}

TEST(Table, TextIsAlignedAndNoLineEndsWithASpace) {
    EXPECT_EQ(stages().text({.width = 80}),
              "stage                     calls  total  note\n"
              "---------------------------------------------\n"
              "loader                       60  1.5 s  waits\n"
              "  transforms/a_long_name   1200    3 s\n"
              "---------------------------------------------\n"
              "sum                              4.5 s\n");
}

TEST(Table, ColumnsAreLeftOutInTheirOrderUntilTheRestFits) {
    EXPECT_EQ(stages().text({.width = 40}),
              "stage                     total  note\n"
              "--------------------------------------\n"
              "loader                    1.5 s  waits\n"
              "  transforms/a_long_name    3 s\n"
              "--------------------------------------\n"
              "sum                       4.5 s\n");
}

TEST(Table, ANameThatIsTooLongGetsALineOfItsOwn) {
    EXPECT_EQ(stages().text({.width = 24}, 2),
              "  stage            total\n"
              "  ----------------------\n"
              "  loader           1.5 s\n"
              "    transforms/a_long_name\n"
              "                     3 s\n"
              "  ----------------------\n"
              "  sum              4.5 s\n");
}

TEST(Table, MarkdownCellsMeanNoMarkup) {
    Table table({{"a|b"}, {"n", Align::right}});
    table.add_row({"<b>*x*_y_`z`[l](u)&\n", "1"});
    EXPECT_EQ(table.markdown(),
              "| a\\|b | n |\n"
              "| --- | ---: |\n"
              "| &lt;b>\\*x\\*\\_y\\_\\`z\\`\\[l\\](u)&amp;\\\\n | 1 |\n");
}

TEST(Table, CsvQuotesWhereItMustAndEscapesControlCharacters) {
    Table table({{"a"}, {"b"}});
    table.add_row({"plain", "with, comma"});
    table.add_row({"say \"hi\"", "two\nlines"});
    table.add_row({"\x1b[2J", "\xff"});
    EXPECT_EQ(table.csv(),
              "a,b\n"
              "plain,\"with, comma\"\n"
              "\"say \"\"hi\"\"\",\"two\nlines\"\n"
              "\\x1b[2J,\\xff\n");
}

TEST(Table, TsvHasOneLinePerRow) {
    Table table({{"a"}, {"b"}});
    table.add_row({"x\ty", "two\nlines"});
    EXPECT_EQ(table.tsv(), "a\tb\nx\\ty\ttwo\\nlines\n");
}

}  // namespace
}  // namespace metatrain_timing::test
