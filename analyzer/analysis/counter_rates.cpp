#include "analyzer/analysis/counter_rates.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace metatrain_timing::analyzer {
namespace {

using Totals = std::map<std::pair<std::string, std::int64_t>, double>;  // name, rank

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

}  // namespace

std::vector<std::vector<CounterRate>> measure_rates(const Run& run,
                                                    std::span<const Pass> passes,
                                                    const PhaseGroups& groups) {
    std::vector<Totals> totals(groups.groups.size());
    for (const Process& process : run.processes) {
        const auto add = [&](const auto& counted) {
            if (const auto group = groups.group_of(counted.iterator)) {
                totals[*group][{run.counter_names[counted.name], process.rank}] +=
                    counted.value;
            }
        };
        for (const Track& track : process.tracks) {
            std::for_each(track.counters.begin(), track.counters.end(), add);
            std::for_each(track.counter_totals.begin(), track.counter_totals.end(),
                          add);
        }
    }
    std::vector<std::vector<CounterRate>> rates(groups.groups.size());
    for (std::size_t g = 0; g < rates.size(); ++g) {
        const auto loop_ns = loop_ns_by_rank(run, passes, groups.groups[g]);
        for (const auto& [key, total] : totals[g]) {
            if (rates[g].empty() || rates[g].back().name != key.first) {
                rates[g].push_back({key.first, 0, std::nullopt});
            }
            CounterRate& rate = rates[g].back();
            rate.total += total;
            const auto loop = loop_ns.find(key.second);
            if (loop != loop_ns.end() && loop->second > 0) {
                rate.per_s = rate.per_s.value_or(0) +
                             total * 1e9 / static_cast<double>(loop->second);
            }
        }
    }
    return rates;
}

}  // namespace metatrain_timing::analyzer
