#include "analyzer/render/text.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace metatrain_timing::analyzer {
namespace {

struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 0;  // 0: not UTF-8
};

// Strict: no overlong forms, no surrogates, nothing beyond U+10FFFF.
CodePoint decode(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return static_cast<unsigned char>(text[i]);
    };
    const unsigned char first = byte(0);
    if (first < 0x80) {
        return {first, 1};
    }
    const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < bytes) {
        return {};
    }
    char32_t value = first & (0xFFU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) {
            return {};
        }
        value = (value << 6U) | (byte(i) & 0x3FU);
    }
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < kSmallest[bytes] || value > 0x10FFFF ||
        (value >= 0xD800 && value <= 0xDFFF)) {
        return {};
    }
    return {value, bytes};
}

// Moves the cursor, or turns the direction of what follows.
bool is_control(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C ||
           (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
           (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

std::string escaped(char32_t c) {
    switch (c) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            break;
    }
    const auto number = static_cast<unsigned>(c);
    if (number < 0x80) {
        return fmt::format("\\x{:02x}", number);
    }
    return number < 0x10000 ? fmt::format("\\u{:04x}", number)
                            : fmt::format("\\U{:08x}", number);
}

std::size_t terminal_width() {
    if (const char* columns = std::getenv("COLUMNS")) {
        std::size_t width = 0;
        const char* end = columns + std::strlen(columns);
        const auto [rest, error] = std::from_chars(columns, end, width);
        if (error == std::errc{} && rest == end && width >= 20 && width <= 10000) {
            return width;
        }
    }
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) {
        return size.ws_col;
    }
    return 80;
}

}  // namespace

TextStyle detect_text_style() {
    return {terminal_width(), std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
}

std::string printable(std::string_view text, bool utf8) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const CodePoint c = decode(text);
        if (c.bytes == 0) {
            shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
            text.remove_prefix(1);
            continue;
        }
        if (is_control(c.value) || (!utf8 && c.value >= 0x80)) {
            shown += escaped(c.value);
        } else {
            shown += text.substr(0, c.bytes);
        }
        text.remove_prefix(c.bytes);
    }
    return shown;
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const CodePoint c = decode(text);
        // -1: the locale does not know the character; then one column is the best guess
        const int columns = c.bytes > 1 ? wcwidth(static_cast<wchar_t>(c.value)) : 1;
        width += columns < 0 ? 1 : static_cast<std::size_t>(columns);
        text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
    }
    return width;
}

std::string in_capitals(std::string_view word) {
    std::string capitals(word);
    std::transform(capitals.begin(), capitals.end(), capitals.begin(), [](char c) {
        return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    return capitals;
}

std::string wrapped(const std::string& text, std::size_t width) {
    std::string lines;
    std::string line;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t space = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, space - at);
        if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
            lines += line + "\n";
            line.clear();
        }
        line += line.empty() ? word : " " + word;
        at = space + 1;
    }
    return lines + line + "\n";
}

}  // namespace metatrain_timing::analyzer
