#include "analyzer/stats/false_discovery.hpp"

#include <algorithm>
#include <vector>

namespace metatrain_timing::analyzer {

std::vector<bool> believe(std::span<const double> p_values, double false_part) {
    std::vector<double> sorted(p_values.begin(), p_values.end());
    std::sort(sorted.begin(), sorted.end());
    double limit = -1;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const double allowed = false_part * static_cast<double>(i + 1) /
                               static_cast<double>(sorted.size());
        if (sorted[i] <= allowed) {
            limit = sorted[i];
        }
    }
    std::vector<bool> believed;
    for (const double p : p_values) {
        believed.push_back(p <= limit);
    }
    return believed;
}

}  // namespace metatrain_timing::analyzer
