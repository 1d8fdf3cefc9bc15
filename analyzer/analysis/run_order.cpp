#include "analyzer/analysis/run_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "analyzer/stats/mean.hpp"
#include "analyzer/stats/student.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kFewestForTrend = 8;

// Ranks from 1, ties share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && values[order[end]] == values[order[begin]]) {
            ++end;
        }
        const double shared = (static_cast<double>(begin + end) + 1) / 2;
        for (; begin < end; ++begin) {
            ranks[order[begin]] = shared;
        }
    }
    return ranks;
}

// Sums of squares and products around the means, of values and their positions.
struct Moments {
    double count = 0;
    double position = 0;  // mean
    double value = 0;     // mean
    double positions = 0;
    double products = 0;
    double values = 0;
};

Moments moments_of(std::span<const double> values, std::size_t first) {
    Moments moments;
    moments.count = static_cast<double>(values.size());
    moments.value = mean_of(values);
    moments.position = static_cast<double>(first) + (moments.count - 1) / 2;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = static_cast<double>(first + i) - moments.position;
        const double y = values[i] - moments.value;
        moments.positions += x * x;
        moments.products += x * y;
        moments.values += y * y;
    }
    return moments;
}

double correlation_with_order(std::span<const double> values) {
    const std::vector<double> ranks = ranks_of(values);
    const Moments moments = moments_of(ranks, 0);
    const double squares = moments.positions * moments.values;
    return squares > 0 ? moments.products / std::sqrt(squares) : 0;
}

double median_slope(std::span<const double> values) {
    std::vector<double> slopes;
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = i + 1; j < values.size(); ++j) {
            slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
        }
    }
    return upper_median(std::move(slopes));
}

double lag_one(std::span<const double> values, double slope) {
    std::vector<double> rest;
    for (std::size_t i = 0; i < values.size(); ++i) {
        rest.push_back(values[i] - slope * static_cast<double>(i));
    }
    const double mean = mean_of(rest);
    double product = 0;
    double squares = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        product += i > 0 ? (rest[i] - mean) * (rest[i - 1] - mean) : 0;
        squares += (rest[i] - mean) * (rest[i] - mean);
    }
    return squares > 0 ? std::clamp(product / squares, 0.0, 0.97) : 0;
}

struct Block {
    std::size_t begin = 0;
    std::size_t end = 0;

    std::size_t size() const { return end - begin; }
};

// Nothing where a value comes back after another one.
std::vector<Block> blocks_of(std::span<const std::string> settings) {
    std::vector<Block> blocks;
    std::set<std::string> known;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        if (i > 0 && settings[i] == settings[i - 1]) {
            blocks.back().end = i + 1;
        } else if (known.insert(settings[i]).second) {
            blocks.push_back({i, i + 1});
        } else {
            return {};
        }
    }
    return blocks;
}

}  // namespace

std::optional<Trend> find_trend(std::span<const double> values) {
    if (values.size() < kFewestForTrend) {
        return std::nullopt;
    }
    Trend trend;
    trend.per_run = median_slope(values);
    const double correlation = correlation_with_order(values);
    const double rho = lag_one(values, trend.per_run);
    const double count = static_cast<double>(values.size()) * (1 - rho) / (1 + rho);
    if (count > 3) {
        // r with variance (1 - r^2) / (n - 2) is Student's t with n - 2
        trend.p = two_sided_p(
            correlation, {(1 - correlation * correlation) / (count - 2), count - 2});
    }
    return trend;
}

std::vector<OrderEffect> find_order_effects(std::span<const double> values,
                                            std::span<const std::string> settings,
                                            double least) {
    constexpr std::size_t kFewest = 2;  // in a block
    constexpr double kConfidence = 0.95;
    std::vector<OrderEffect> effects;
    const std::vector<Block> blocks = blocks_of(settings);
    for (std::size_t b = 1; b < blocks.size(); ++b) {
        const Block& one = blocks[b - 1];
        const Block& other = blocks[b];
        const std::size_t count = one.size() + other.size();
        if (one.size() < kFewest || other.size() < kFewest || count < 2 * kFewest + 1) {
            continue;
        }
        const Moments before =
            moments_of(values.subspan(one.begin, one.size()), one.begin);
        const Moments after =
            moments_of(values.subspan(other.begin, other.size()), other.begin);
        const double positions = before.positions + after.positions;
        const double slope = (before.products + after.products) / positions;
        const double distance = after.position - before.position;
        OrderEffect effect;
        effect.before = settings[one.begin];
        effect.after = settings[other.begin];
        effect.at = other.begin;
        effect.difference = after.value - before.value;
        effect.by_drift = slope * distance;
        effect.correlation = correlation_with_order(values.subspan(one.begin, count));
        const double df = static_cast<double>(count) - 3;
        const double rest =
            std::max(before.values + after.values - slope * slope * positions, 0.0);
        const double variance =
            rest / df *
            (1 / before.count + 1 / after.count + distance * distance / positions);
        const double left = effect.difference - effect.by_drift;
        const bool is_sure = std::abs(left) > half_width({variance, df}, kConfidence);
        if (std::abs(effect.difference) >= least && !is_sure &&
            effect.by_drift / effect.difference >= 0.5) {
            effects.push_back(std::move(effect));
        }
    }
    return effects;
}

}  // namespace metatrain_timing::analyzer
