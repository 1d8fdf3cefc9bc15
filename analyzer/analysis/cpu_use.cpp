#include "analyzer/analysis/cpu_use.hpp"

#include <algorithm>

namespace metatrain_timing::analyzer {
namespace {

struct Reading {
    double cpu_ns = 0;
    double queued_ns = -1;
};

// What was used until `at_ns`, which lies between the first and the last reading.
Reading read_at(const std::vector<CpuReading>& readings, std::int64_t at_ns) {
    const auto after =
        std::upper_bound(readings.begin(), readings.end() - 1, at_ns,
                         [](std::int64_t time_ns, const CpuReading& one) {
                             return time_ns < one.at_ns;
                         });
    const CpuReading& to = *after;
    const CpuReading& from = after == readings.begin() ? to : *(after - 1);
    const auto length = static_cast<double>(to.at_ns - from.at_ns);
    const double part =
        length > 0 ? static_cast<double>(at_ns - from.at_ns) / length : 0;
    const auto between = [&](std::int64_t a, std::int64_t b) {
        return static_cast<double>(a) + part * static_cast<double>(b - a);
    };
    const bool knows_queue = from.queued_ns >= 0 && to.queued_ns >= 0;
    return {between(from.cpu_ns, to.cpu_ns),
            knows_queue ? between(from.queued_ns, to.queued_ns) : -1};
}

}  // namespace

std::optional<CpuUse> cpu_use_between(const std::vector<CpuReading>& readings,
                                      std::int64_t from_ns, std::int64_t to_ns) {
    if (readings.size() < 2 || to_ns <= from_ns) {
        return std::nullopt;
    }
    const std::int64_t begin_ns = std::max(from_ns, readings.front().at_ns);
    const std::int64_t end_ns = std::min(to_ns, readings.back().at_ns);
    if (end_ns - begin_ns < (to_ns - from_ns) / 2 || end_ns <= begin_ns) {
        return std::nullopt;
    }
    const Reading begin = read_at(readings, begin_ns);
    const Reading end = read_at(readings, end_ns);
    CpuUse use;
    use.wall_ns = end_ns - begin_ns;
    use.cpu_ns = std::max(0.0, end.cpu_ns - begin.cpu_ns);
    if (begin.queued_ns >= 0 && end.queued_ns >= 0) {
        use.queued_ns = std::max(0.0, end.queued_ns - begin.queued_ns);
    }
    return use;
}

}  // namespace metatrain_timing::analyzer
