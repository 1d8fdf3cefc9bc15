#include "analyzer/stats/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

#include "analyzer/stats/mean.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kDraws = 999;
constexpr std::size_t kFewest = 2;  // values on a side of the scan
constexpr double kCut = 8;

// Cut at so many deviations as differences of neighbours have, which levels do not
// change.
std::vector<double> cut_spikes(std::span<const double> series) {
    std::vector<double> values(series.begin(), series.end());
    if (values.size() < 3) {
        return values;
    }
    std::vector<double> steps;
    for (std::size_t i = 1; i < values.size(); ++i) {
        steps.push_back(std::abs(values[i] - values[i - 1]));
    }
    const double deviation = upper_median(std::move(steps));
    if (deviation == 0) {  // most are exactly the same: any change is one
        return values;
    }
    const double center = upper_median(values);
    for (double& value : values) {
        value = std::clamp(value, center - kCut * deviation, center + kCut * deviation);
    }
    return values;
}

struct Split {
    std::size_t at = 0;
    double t = 0;
};

// The split of values into two parts whose means differ most for their spread.
Split best_split(std::span<const double> values) {
    double sum = 0;
    double squares = 0;
    for (const double value : values) {
        sum += value;
        squares += value * value;
    }
    const auto count = static_cast<double>(values.size());
    const double mean = sum / count;
    const double total = std::max(squares - sum * mean, 0.0);
    Split best;
    double before = 0;
    for (std::size_t at = 1; at + kFewest <= values.size(); ++at) {
        before += values[at - 1] - mean;
        if (at < kFewest) {
            continue;
        }
        const auto left = static_cast<double>(at);
        const double between = before * before * count / (left * (count - left));
        const double within = std::max(total - between, 1e-12 * total);
        const double t = within > 0 ? std::sqrt(between / (within / (count - 2))) : 0;
        if (t > best.t) {
            best = {at, t};
        }
    }
    return best;
}

double correlation(std::span<const double> values) {
    double product = 0;
    double squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        product += i > 0 ? values[i] * values[i - 1] : 0;
        squares += values[i] * values[i];
    }
    return squares > 0 ? product / squares : 0;
}

// How much a value depends on the one before: by what one split leaves, unless the
// differences of neighbours say far less. Then there are more changes than that one,
// which look like dependence; differences do not see levels (their own correlation is
// (rho - 1) / 2).
double dependence(std::span<const double> values, std::span<const double> residuals) {
    constexpr double kFarLess = 0.35;
    const auto count = static_cast<double>(values.size());
    std::vector<double> differences;
    for (std::size_t i = 1; i < values.size(); ++i) {
        differences.push_back(values[i] - values[i - 1]);
    }
    // The estimate is low by (1 + 3 rho) / n (Kendall, Biometrika 41 (1954) 403), and
    // by as much again as both levels were taken away.
    const double raw = correlation(residuals);
    // And of short series it is known badly: half of its error (Bartlett) more.
    const double by_residuals = raw + 2 * (1 + 3 * std::max(raw, 0.0)) / count +
                                std::sqrt((1 - raw * raw) / count) / 2;
    const double by_differences = 1 + 2 * correlation(differences);
    const bool has_more = by_differences < by_residuals - kFarLess;
    return std::clamp(has_more ? by_differences : by_residuals, 0.0, 0.97);
}

// A series without a change whose values depend on each other as these do.
class Null {
  public:
    // Seeded with a constant, so that an answer is the same every time.
    // NOLINTNEXTLINE(bugprone-random-generator-seed)
    Null(std::span<const double> values, std::size_t split) : random_(kNullSeed) {
        std::vector<double> residuals(values.begin(), values.end());
        const double left = mean_of(values.subspan(0, split));
        const double right = mean_of(values.subspan(split));
        for (std::size_t i = 0; i < residuals.size(); ++i) {
            residuals[i] -= i < split ? left : right;
        }
        rho_ = dependence(values, residuals);
        for (std::size_t i = 1; i < residuals.size(); ++i) {
            innovations_.push_back(residuals[i] - rho_ * residuals[i - 1]);
        }
        const double mean = mean_of(innovations_);
        for (double& innovation : innovations_) {
            innovation -= mean;
        }
        series_.resize(values.size());
    }

    std::span<const double> draw() {
        double value = 0;
        const std::size_t warm_up = rho_ > 0 ? 50 : 0;
        for (std::size_t i = 0; i < warm_up; ++i) {
            value = rho_ * value + innovation();
        }
        for (double& next : series_) {
            value = rho_ * value + innovation();
            next = value;
        }
        return series_;
    }

  private:
    double innovation() { return innovations_[random_() % innovations_.size()]; }

    std::mt19937_64 random_;
    std::vector<double> innovations_;
    std::vector<double> series_;
    double rho_ = 0;
};

struct Tested {
    Split split;
    double p = 1;
};

Tested test(std::span<const double> values, double alpha) {
    Tested tested;
    if (values.size() < 2 * kFewest + 1) {
        return tested;
    }
    tested.split = best_split(values);
    if (tested.split.t == 0) {
        return tested;
    }
    Null null(values, tested.split.at);
    const auto most = static_cast<std::size_t>(alpha * (kDraws + 1));
    std::size_t as_great = 0;
    for (std::size_t i = 0; i < kDraws && as_great < most; ++i) {
        as_great += best_split(null.draw()).t >= tested.split.t ? 1U : 0U;
    }
    // Where it went on to the end this is the p value, else it is above alpha.
    tested.p = as_great < most ? static_cast<double>(as_great + 1) / (kDraws + 1) : 1;
    return tested;
}

class Segmenter {
  public:
    // `raw` are the values before they were cut: of these shifts are told.
    Segmenter(std::span<const double> raw, std::span<const double> values,
              const LevelChange& change)
        : raw_(raw), values_(values), change_(change) {}

    std::vector<ChangePoint> find() {
        split(0, values_.size());
        std::sort(
            found_.begin(), found_.end(),
            [](const ChangePoint& a, const ChangePoint& b) { return a.at < b.at; });
        while (drop_one()) {
        }
        set_shifts();
        return found_;
    }

  private:
    void split(std::size_t begin, std::size_t end) {
        const Tested tested = test(values_.subspan(begin, end - begin), change_.alpha);
        if (tested.p > change_.alpha) {
            return;
        }
        const std::size_t at = begin + tested.split.at;
        found_.push_back({at, 0, tested.p});
        split(begin, at);
        split(at, end);
    }

    std::size_t begin_of(std::size_t i) const { return i == 0 ? 0 : found_[i - 1].at; }
    std::size_t end_of(std::size_t i) const {
        return i + 1 == found_.size() ? values_.size() : found_[i + 1].at;
    }

    void set_shifts() {
        for (std::size_t i = 0; i < found_.size(); ++i) {
            const std::size_t at = found_[i].at;
            found_[i].shift = mean_of(raw_.subspan(at, end_of(i) - at)) -
                              mean_of(raw_.subspan(begin_of(i), at - begin_of(i)));
        }
    }

    // The weakest point that is none between its neighbours.
    bool drop_one() {
        set_shifts();
        auto weakest = found_.end();
        for (std::size_t i = 0; i < found_.size(); ++i) {
            const std::size_t at = found_[i].at;
            const bool holds = std::abs(found_[i].shift) >= change_.least_shift &&
                               at - begin_of(i) >= change_.least_values &&
                               end_of(i) - at >= change_.least_values;
            const auto own = found_.begin() + static_cast<std::ptrdiff_t>(i);
            if (!holds && (weakest == found_.end() ||
                           std::abs(own->shift) < std::abs(weakest->shift))) {
                weakest = own;
            }
        }
        if (weakest == found_.end()) {
            return false;
        }
        found_.erase(weakest);
        return true;
    }

    std::span<const double> raw_;
    std::span<const double> values_;
    const LevelChange& change_;
    std::vector<ChangePoint> found_;
};

}  // namespace

std::vector<ChangePoint> find_change_points(std::span<const double> series,
                                            const LevelChange& change) {
    const std::vector<double> values = cut_spikes(series);
    return Segmenter(series, values, change).find();
}

}  // namespace metatrain_timing::analyzer
