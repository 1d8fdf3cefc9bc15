#include "analyzer/analysis/counter_rates.hpp"

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <map>
#include <utility>

namespace metatrain_timing::analyzer {
namespace {

constexpr double kSecondNs = 1e9;

// What was counted under one name in a group.
struct Counted {
    std::map<std::int64_t, double> by_rank;
    std::map<std::pair<std::int32_t, std::int32_t>, double> by_batch;  // pass, number
};

using CountedByName = std::map<std::string, Counted>;

std::map<std::int64_t, std::int64_t> loop_ns_by_rank(const Run& run,
                                                     std::span<const Pass> passes,
                                                     const PhaseGroup& group) {
    std::map<std::int64_t, std::int64_t> loop_ns;
    for (const std::size_t p : group.passes) {
        loop_ns[run.processes[passes[p].process].rank] +=
            passes[p].wait_ns() + passes[p].body_ns();
    }
    return loop_ns;
}

std::vector<CountedByName> sum_up(const Run& run, const PhaseGroups& groups) {
    std::vector<CountedByName> sums(groups.groups.size());
    for (const Process& process : run.processes) {
        const auto counted_at = [&](const auto& value) -> Counted* {
            const auto group = groups.group_of(value.iterator);
            return group ? &sums[*group][run.counter_names[value.name]] : nullptr;
        };
        for (const Track& track : process.tracks) {
            for (const Counter& counter : track.counters) {
                if (Counted* const counted = counted_at(counter)) {
                    counted->by_rank[process.rank] += counter.value;
                    if (counter.batch >= 0) {
                        counted->by_batch[{counter.iterator, counter.batch}] +=
                            counter.value;
                    }
                }
            }
            for (const CounterTotal& total : track.counter_totals) {
                if (Counted* const counted = counted_at(total)) {
                    counted->by_rank[process.rank] += total.value;
                }
            }
        }
    }
    return sums;
}

std::optional<BatchSpread> spread_of(const Counted& counted) {
    if (counted.by_batch.empty()) {
        return std::nullopt;
    }
    std::vector<double> sizes;
    for (const auto& [batch, size] : counted.by_batch) {
        sizes.push_back(size);
    }
    const auto [min, max] = std::minmax_element(sizes.begin(), sizes.end());
    BatchSpread spread;
    spread.batches = static_cast<std::int64_t>(sizes.size());
    spread.min = *min;
    spread.max = *max;
    spread.median = boost::math::statistics::median(sizes.begin(), sizes.end());
    return spread;
}

CounterRate rate_of(const std::string& name, const Counted& counted,
                    const std::map<std::int64_t, std::int64_t>& loop_ns) {
    CounterRate rate;
    rate.name = name;
    rate.per_batch = spread_of(counted);
    double busy_ns = 0;
    double counted_then = 0;
    for (const auto& [rank, total] : counted.by_rank) {
        rate.total += total;
        const auto loop = loop_ns.find(rank);
        if (loop != loop_ns.end() && loop->second > 0) {
            const auto rank_ns = static_cast<double>(loop->second);
            rate.per_s = rate.per_s.value_or(0) + total * kSecondNs / rank_ns;
            busy_ns += rank_ns;
            counted_then += total;
        }
    }
    if (counted_then > 0) {
        rate.each_ns = busy_ns / counted_then;
    }
    return rate;
}

}  // namespace

std::vector<std::vector<CounterRate>> measure_rates(const Run& run,
                                                    std::span<const Pass> passes,
                                                    const PhaseGroups& groups) {
    const std::vector<CountedByName> sums = sum_up(run, groups);
    std::vector<std::vector<CounterRate>> rates(sums.size());
    for (std::size_t g = 0; g < rates.size(); ++g) {
        const auto loop_ns = loop_ns_by_rank(run, passes, groups.groups[g]);
        for (const auto& [name, counted] : sums[g]) {
            rates[g].push_back(rate_of(name, counted, loop_ns));
        }
    }
    return rates;
}

}  // namespace metatrain_timing::analyzer
