#include "analyzer/render/leading_parts.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {

bool has_parts(std::span<const PartChange> all, const StagePath& path) {
    return std::any_of(all.begin(), all.end(), [&](const PartChange& other) {
        return other.path.size() == path.size() + 1 &&
               std::equal(path.begin(), path.end(), other.path.begin());
    });
}

std::vector<PartChange> leading_parts(std::span<const PartChange> all,
                                      std::size_t most) {
    constexpr double kMatters = 0.15;
    std::vector<PartChange> parts;
    for (const PartChange& part : all) {
        if (part.difference_ns != 0 && !has_parts(all, part.path)) {
            parts.push_back(part);
        }
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const PartChange& a, const PartChange& b) {
                         return std::abs(a.difference_ns) > std::abs(b.difference_ns);
                     });
    const auto small =
        std::find_if(parts.begin(), parts.end(), [&](const PartChange& part) {
            return std::abs(part.difference_ns) <
                   kMatters * std::abs(parts.front().difference_ns);
        });
    parts.erase(small, parts.end());
    parts.resize(std::min(parts.size(), most));
    return parts;
}

std::string describe(const StagePath& path) {
    const std::string& name = path.back();
    const bool in_wait = path.front() == "loader";
    if (name == kUnattributed) {
        const std::string outer = "`" + path[path.size() - 2] + "`";
        return in_wait ? outer + " for no reason on record"
                       : outer + " outside its stages";
    }
    return path.size() > 1 && in_wait ? "waiting for `" + name + "`" : "`" + name + "`";
}

}  // namespace metatrain_timing::analyzer
