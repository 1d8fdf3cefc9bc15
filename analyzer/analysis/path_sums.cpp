#include "analyzer/analysis/path_sums.hpp"

#include <cmath>
#include <numeric>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {

double PathSum::total_ns() const {
    return std::accumulate(sums_ns.begin(), sums_ns.end(), 0.0);
}

PathSums::Node PathSums::child(Node parent, std::string_view name) {
    for (const Node known : nodes_[parent].children) {
        if (nodes_[known].name == name) {
            return known;
        }
    }
    const Node node = nodes_.size();
    nodes_.emplace_back();
    nodes_[node].name = name;
    nodes_[parent].children.push_back(node);
    return node;
}

std::vector<PathSum> PathSums::rows() const {
    std::vector<PathSum> rows;
    std::vector<std::string> path;
    for (const Node node : nodes_[kRoot].children) {
        append(node, path, rows);
    }
    return rows;
}

void PathSums::append(Node node, std::vector<std::string>& path,
                      std::vector<PathSum>& rows) const {
    const NodeData& data = nodes_[node];
    path.push_back(data.name);
    rows.push_back({path, data.sums_ns});
    BatchSums rest = data.sums_ns;
    const auto take_away = [&](Node part) {
        for (std::size_t b = 0; b < rest.size(); ++b) {
            rest[b] -= nodes_[part].sums_ns[b];
        }
    };
    const Node none = nodes_.size();
    Node known_rest = none;  // recorded as such
    for (const Node part : data.children) {
        take_away(part);
        if (nodes_[part].name == kUnattributed) {
            known_rest = part;
        } else {
            append(part, path, rows);
        }
    }
    if (!data.children.empty()) {
        for (std::size_t b = 0; known_rest != none && b < rest.size(); ++b) {
            rest[b] += nodes_[known_rest].sums_ns[b];
        }
        for (std::size_t b = 0; b < rest.size(); ++b) {  // what rounding leaves is none
            const bool is_none = std::abs(rest[b]) < 1e-9 * std::abs(data.sums_ns[b]);
            rest[b] = is_none ? 0 : rest[b];
        }
        path.emplace_back(kUnattributed);
        rows.push_back({path, rest});
        path.pop_back();
    }
    path.pop_back();
}

}  // namespace metatrain_timing::analyzer
