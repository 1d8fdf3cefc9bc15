#include "analyzer/analysis/newest_run.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyzer/stats/mean.hpp"
#include "analyzer/stats/student.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kFewestToJudgeBy =
    4;  // of three, 1 in 100 lies 11 deviations away

struct ExpectedRange {
    double center = 0;
    double half = 0;
    std::size_t runs = 0;

    NewestVerdict judge(double value, double least) const {
        if (runs < kFewestToJudgeBy) {
            return NewestVerdict::unknown;
        }
        if (std::abs(value - center) <= std::max(half, least)) {
            return NewestVerdict::normal;
        }
        return value > center ? NewestVerdict::slower : NewestVerdict::faster;
    }
};

// Of one more run, by the runs of the level before `end`.
ExpectedRange expect(std::span<const double> series, const RunLevels& levels,
                     std::size_t end, double within, double confidence) {
    RunLevel level = levels.levels.back();
    level.end = std::max(level.begin, end);
    const std::vector<double> values = values_of(level, series, levels.spikes);
    ExpectedRange expected;
    expected.runs = values.size();
    expected.center = mean_of(values);
    if (values.size() >= kFewestToJudgeBy) {
        const auto count = static_cast<double>(values.size());
        const double variance = std::max(sample_variance(values), within);
        expected.half = half_width({variance * (1 + 1 / count), count - 1}, confidence);
    }
    return expected;
}

bool is_odd(NewestVerdict verdict) {
    return verdict == NewestVerdict::slower || verdict == NewestVerdict::faster;
}

}  // namespace

std::string_view to_string(NewestVerdict verdict) {
    switch (verdict) {
        case NewestVerdict::normal:
            return "normal";
        case NewestVerdict::slower:
            return "slower";
        case NewestVerdict::faster:
            return "faster";
        case NewestVerdict::unknown:
            break;
    }
    return "unknown";
}

NewestRun judge_newest(std::span<const double> series, const RunLevels& levels,
                       double within, double least, double confidence) {
    const std::size_t count = series.size();
    NewestRun newest;
    ExpectedRange expected = expect(series, levels, count - 1, within, confidence);
    newest.verdict = expected.judge(series.back(), least);
    if (count >= 2) {
        // a run that is odd itself would make the interval long
        const ExpectedRange before =
            expect(series, levels, count - 2, within, confidence);
        const NewestVerdict last = before.judge(series[count - 2], least);
        const NewestVerdict now = before.judge(series.back(), least);
        if (is_odd(last) && last == now) {
            expected = before;
            newest.verdict = now;
            newest.again = true;
        }
    }
    newest.runs = expected.runs;
    if (newest.verdict != NewestVerdict::unknown) {
        newest.low = expected.center - std::max(expected.half, least);
        newest.high = expected.center + std::max(expected.half, least);
    }
    return newest;
}

}  // namespace metatrain_timing::analyzer
