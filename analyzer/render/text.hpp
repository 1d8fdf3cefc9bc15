#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace metatrain_timing::analyzer {

/// How text output is to be laid out.
struct TextStyle {
    std::size_t width = 80;  // columns of the terminal
    bool utf8 = true;        // false: everything beyond ASCII is escaped
};

/// The style for standard output: COLUMNS, else the terminal's width, else 80; UTF-8 as
/// the locale of LC_CTYPE says (the caller has called setlocale()).
TextStyle detect_text_style();

/// `text` as it may be shown on a terminal: control characters (also C1 and those that
/// turn the direction of writing) become \n, \t, \x1b or \u202e, bytes that are not
/// UTF-8 become \xff. Line breaks are escaped too, so the result is one line.
std::string printable(std::string_view text, bool utf8 = true);

/// "regressed" as "REGRESSED".
std::string in_capitals(std::string_view word);

/// `text` in lines of at most `width` columns, broken at spaces; ends with '\n'.
std::string wrapped(const std::string& text, std::size_t width);

/// Columns that `printable()` text takes; characters of double width count two where
/// the locale knows them.
std::size_t display_width(std::string_view text);

}  // namespace metatrain_timing::analyzer
