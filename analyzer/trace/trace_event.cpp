#include "analyzer/trace/trace_event.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace metatrain_timing::analyzer {
namespace {

// Of plain decimals: a double has not enough digits for microseconds since 1970.
std::optional<std::int64_t> parse_decimal_us(std::string_view text) {
    constexpr int kDigits = 3;
    const bool negative = text.starts_with('-');
    text.remove_prefix(negative ? 1 : 0);
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    std::int64_t us = 0;
    const auto [end, error] =
        std::from_chars(whole.data(), whole.data() + whole.size(), us);
    if (error != std::errc() || end != whole.data() + whole.size() || us < 0) {
        return std::nullopt;
    }
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(us, std::int64_t{1000}, &ns)) {
        return std::nullopt;
    }
    if (point != std::string_view::npos) {
        const std::string_view fraction = text.substr(point + 1);
        std::int64_t unit = 100;
        for (std::size_t i = 0; i < fraction.size(); ++i) {
            if (fraction[i] < '0' || fraction[i] > '9') {
                return std::nullopt;
            }
            if (i < kDigits) {
                ns += unit * (fraction[i] - '0');
                unit /= 10;
            } else if (i == kDigits && fraction[i] >= '5') {
                ++ns;
            }
        }
    }
    return negative ? -ns : ns;
}

}  // namespace

std::optional<std::int64_t> parse_us(const std::string& text) {
    if (const auto ns = parse_decimal_us(text)) {
        return ns;
    }
    double us = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), us);
    constexpr double kMost = 9.2e15;  // 292 years
    if (error != std::errc() || end != text.data() + text.size() ||
        !(std::abs(us) < kMost)) {
        return std::nullopt;
    }
    return std::llround(us * 1e3);
}

}  // namespace metatrain_timing::analyzer
