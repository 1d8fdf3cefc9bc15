#include "analyzer/render/sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::vector<double> means_of(std::span<const double> values, std::size_t count) {
    std::vector<double> means;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t begin = i * values.size() / count;
        const std::size_t end = (i + 1) * values.size() / count;
        means.push_back(mean_of(values.subspan(begin, end - begin)));
    }
    return means;
}

}  // namespace

std::string sparkline(std::span<const double> values, std::size_t width, bool utf8) {
    constexpr std::array kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::array kDigits = {"0", "1", "2", "3", "4", "5", "6", "7"};
    const auto& levels = utf8 ? kBars : kDigits;
    const std::vector<double> shown = means_of(values, std::min(values.size(), width));
    if (shown.empty()) {
        return "";
    }
    const auto [least, greatest] = std::minmax_element(shown.begin(), shown.end());
    std::string line;
    for (const double value : shown) {
        const double part =
            *greatest > *least ? (value - *least) / (*greatest - *least) : 0.5;
        const auto level =
            static_cast<std::size_t>(std::lround(part * (kBars.size() - 1)));
        line += levels[std::min(level, kBars.size() - 1)];
    }
    return line;
}

}  // namespace metatrain_timing::analyzer
