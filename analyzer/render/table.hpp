#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {

enum class Align { left, right };

/// A column of a `Table`.
struct Column {
    std::string title;
    Align align = Align::left;
    /// Where the text form is too wide, columns are left out, the greatest `drop`
    /// first; 0: never. Other forms show every column.
    int drop = 0;
};

/// Rows of text cells, written for people (text, Markdown) or programs (CSV, TSV).
///
/// Cells are raw: every form escapes what it must (see `printable()`). A row may have
/// fewer cells than there are columns. No form cuts a cell.
class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void add_row(std::vector<std::string> cells);

    /// A rule between the rows before and after, in the text form.
    void add_rule() { rules_.push_back(rows_.size()); }

    std::size_t row_count() const { return rows_.size(); }

    /// Aligned columns, two spaces apart, with a rule under the titles; every line ends
    /// with '\n' and none with a space. `indent` spaces lead every line; leading spaces
    /// of a cell are kept. Where columns cannot be left out, a first cell that is too
    /// long gets a line of its own, its row follows on the next.
    std::string text(const TextStyle& style, std::size_t indent = 0) const;

    /// A GitHub-flavoured Markdown table; its cells mean no markup.
    std::string markdown() const;

    /// RFC 4180 with '\n' at line ends: quoted where a comma, quote or line break makes
    /// it necessary; other control characters and bytes that are not UTF-8 are escaped.
    std::string csv() const;

    /// One line per row, cells separated by a tab; tabs and line breaks in cells
    /// escaped.
    std::string tsv() const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> rules_;
};

}  // namespace metatrain_timing::analyzer
