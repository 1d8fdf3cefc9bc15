#include "analyzer/render/units.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace metatrain_timing::analyzer {
namespace {

constexpr double kMinute = 60 * kSecond;
constexpr double kHour = 60 * kMinute;

std::string with_separators(std::string digits) {
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string two_units(double ns, double greater, const char* name, double smaller,
                      const char* smaller_name) {
    const auto whole = static_cast<std::int64_t>(std::round(ns / smaller));
    const auto per = static_cast<std::int64_t>(greater / smaller);
    return fmt::format("{} {} {} {}", whole / per, name, whole % per, smaller_name);
}

}  // namespace

int decimals_for(double greatest) {
    // 99.96 rounds to 100.0, which needs no more digits
    if (greatest >= 99.95) {
        return greatest >= 999.5 ? 0 : 1;
    }
    return greatest >= 9.995 ? 1 : (greatest >= 0.9995 ? 2 : 3);
}

std::string format_fixed(double value, int decimals) {
    const double smallest = std::pow(10.0, -decimals);
    const double shown = std::abs(value);
    if (shown != 0 && shown < smallest / 2) {
        return fmt::format("{}<{:.{}f}", value < 0 ? "-" : "", smallest, decimals);
    }
    return fmt::format("{:.{}f}", value, decimals);
}

std::string format_number(double value) {
    const double size = std::abs(value);
    if (size >= 999.5) {
        return (value < 0 ? "-" : "") + with_separators(fmt::format("{:.0f}", size));
    }
    if (size == 0) {
        return "0";
    }
    return fmt::format("{:.{}f}", value, size >= 99.95 ? 0 : decimals_for(size));
}

std::string format_amount(double value) {
    return std::abs(value) < 999.5 && value == std::trunc(value)
               ? fmt::format("{:.0f}", value)
               : format_number(value);
}

std::string format_duration(double ns) {
    if (ns < 0) {
        return "-" + format_duration(-ns);
    }
    if (ns >= kHour) {
        return two_units(ns, kHour, "h", kMinute, "min");
    }
    if (ns >= 2 * kMinute) {
        return two_units(ns, kMinute, "min", kSecond, "s");
    }
    if (ns >= 0.9995 * kSecond) {
        return format_number(ns / kSecond) + " s";
    }
    if (ns >= 0.9995e6) {
        return format_number(ns / 1e6) + " ms";
    }
    if (ns >= 1e3) {
        return format_number(ns / 1e3) + " us";
    }
    return fmt::format("{:.0f} ns", ns);
}

std::string with_sign(double ns) {
    return (ns < 0 ? "-" : "+") + format_duration(std::abs(ns));
}

std::string format_share(double share) {
    const double percent = share * 100;
    if (percent != 0 && std::abs(percent) < 0.05) {
        return "<0.1 %";
    }
    return percent == 0 ? "0 %"
                        : fmt::format("{:.{}f} %", percent, percent < 9.95 ? 1 : 0);
}

std::string format_count(std::int64_t count, const std::string& noun,
                         const std::string& plural) {
    const std::string digits =
        with_separators(fmt::format("{}", std::max<std::int64_t>(count, 0)));
    if (count == 1) {
        return digits + " " + noun;
    }
    return digits + " " + (plural.empty() ? noun + "s" : plural);
}

std::string format_time(std::int64_t unix_ns) {
    const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
    std::tm local{};
    if (unix_ns <= 0 || localtime_r(&seconds, &local) == nullptr) {
        return "unknown time";
    }
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

}  // namespace metatrain_timing::analyzer
