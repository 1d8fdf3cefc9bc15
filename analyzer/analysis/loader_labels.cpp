#include "analyzer/analysis/loader_labels.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace metatrain_timing::analyzer {
namespace {

// When a loader was in use; one that nobody waited for never was.
struct InUse {
    std::int64_t from_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t to_ns = std::numeric_limits<std::int64_t>::max();
};

std::vector<InUse> measure_use(const Run& run, std::span<const Pass> passes) {
    std::vector<InUse> uses(run.loaders.size());
    for (const Pass& pass : passes) {
        for (const std::int32_t iterator : pass.iterators) {
            const std::int32_t loader =
                run.iterators[static_cast<std::size_t>(iterator)].loader;
            if (loader < 0) {
                continue;
            }
            InUse& use = uses[static_cast<std::size_t>(loader)];
            const bool is_first =
                use.from_ns == std::numeric_limits<std::int64_t>::max();
            use.to_ns = is_first ? pass.end_ns : std::max(use.to_ns, pass.end_ns);
            use.from_ns = std::min(use.from_ns, pass.start_ns);
        }
    }
    return uses;
}

std::string base_name(const Loader& loader) {
    return loader.name.empty() ? "loader " + std::to_string(loader.number)
                               : loader.name;
}

}  // namespace

std::vector<std::string> loader_labels(const Run& run, std::span<const Pass> passes) {
    const std::vector<InUse> uses = measure_use(run, passes);
    std::vector<std::size_t> order(run.loaders.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(uses[a].from_ns, run.loaders[a].number) <
               std::tie(uses[b].from_ns, run.loaders[b].number);
    });

    // Of each (process, name, place): its loaders in the mind of the script, and until
    // when each was in use.
    std::map<std::tuple<std::int32_t, std::string, std::string>,
             std::vector<std::pair<std::string, std::int64_t>>>
        known;
    std::map<std::pair<std::int32_t, std::string>, int> count_of_name;
    std::vector<std::string> labels(run.loaders.size());
    for (const std::size_t i : order) {
        const Loader& loader = run.loaders[i];
        const std::string name = base_name(loader);
        auto& same_place = known[{loader.process, name, loader.created_at}];
        const auto reused = std::find_if(
            same_place.begin(), same_place.end(),
            [&](const auto& other) { return other.second <= uses[i].from_ns; });
        if (reused != same_place.end()) {
            labels[i] = reused->first;
            reused->second = uses[i].to_ns;
            continue;
        }
        const int count = ++count_of_name[{loader.process, name}];
        labels[i] = count == 1 ? name : name + " #" + std::to_string(count);
        same_place.emplace_back(labels[i], uses[i].to_ns);
    }
    return labels;
}

}  // namespace metatrain_timing::analyzer
