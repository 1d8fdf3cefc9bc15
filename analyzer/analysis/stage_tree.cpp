#include "analyzer/analysis/stage_tree.hpp"

#include <algorithm>

#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
double share_of(std::int64_t part_ns, std::int64_t whole_ns) {
    return whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns)
                        : 0;
}

std::string_view to_string(Where where) {
    switch (where) {
        case Where::main:
            return "main";
        case Where::worker:
            return "worker";
        case Where::pin:
            return "pin";
        case Where::thread:
            return "thread";
    }
    return "main";
}

std::size_t StageTree::add_name(std::string_view name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
        names_.emplace_back(name);
        return names_.size() - 1;
    }
    return static_cast<std::size_t>(found - names_.begin());
}

StageTree::Node StageTree::child(Node parent, std::size_t name) {
    for (const Node known : nodes_[parent].children) {
        if (nodes_[known].name == name) {
            return known;
        }
    }
    const Node node = nodes_.size();
    nodes_.emplace_back();
    nodes_[node].name = name;
    NodeData& above = nodes_[parent];
    if (above.children.empty() && !above.closed) {
        above.residuals = above.calls;  // of the calls before, which had no parts
    }
    above.children.push_back(node);
    return node;
}

void StageTree::add(Node node, std::int64_t dur_ns, std::int64_t parts_ns, bool steady,
                    std::int64_t cpu_ns) {
    NodeData& data = nodes_[node];
    data.calls.add(dur_ns, steady);
    if (data.closed || !data.children.empty()) {
        data.residuals.add(dur_ns - parts_ns, steady);
    }
    if (cpu_ns >= 0) {
        data.cpu_ns = std::max<std::int64_t>(data.cpu_ns, 0) + cpu_ns;
        data.cpu_wall_ns += dur_ns;
    }
}

void StageTree::add_sums(Node node, const IntervalTotal& sums) {
    NodeData& data = nodes_[node];
    data.summed.calls += sums.calls;
    data.summed.total_ns += sums.total_ns;
    if (sums.cpu_ns >= 0) {
        data.cpu_ns = std::max<std::int64_t>(data.cpu_ns, 0) + sums.cpu_ns;
        data.cpu_wall_ns += sums.cpu_wall_ns;
    }
}

// What the parts of the calls that are only summed leave of these.
StageTree::Sums StageTree::rest_of(const NodeData& data) const {
    Sums rest = data.summed;
    for (const Node part : data.children) {
        rest.total_ns -= nodes_[part].summed.total_ns;
    }
    return rest;
}

std::vector<StageRow> StageTree::rows(Where where, std::int64_t whole_ns) {
    std::vector<StageRow> rows;
    for (const Node node : nodes_[kRoot].children) {
        append_rows(node, 0, where, whole_ns, rows);
    }
    return rows;
}

StageRow StageTree::make_row(Calls& calls, const Sums& summed, std::int64_t whole_ns) {
    StageRow row;
    row.steady_calls = static_cast<std::int64_t>(calls.steady.size());
    row.steady_ns = calls.steady.total_ns();
    row.steady_call = calls.steady.summarize();
    row.call = row.steady_call;
    if (!calls.others.empty()) {
        calls.steady.add(calls.others);
        row.call = calls.steady.summarize();
    }
    row.calls = static_cast<std::int64_t>(calls.steady.size());
    row.total_ns = calls.steady.total_ns();
    row.calls += summed.calls;
    row.total_ns += summed.total_ns;
    if (row.call && summed.calls > 0) {
        row.call->mean_ns =
            static_cast<double>(row.total_ns) / static_cast<double>(row.calls);
    }
    row.share = share_of(row.total_ns, whole_ns);
    return row;
}

void StageTree::append_rows(Node node, std::size_t level, Where where,
                            std::int64_t whole_ns, std::vector<StageRow>& rows) {
    NodeData& data = nodes_[node];
    StageRow row = make_row(data.calls, data.summed, whole_ns);
    row.stage = names_[data.name];
    row.where = where;
    row.level = level;
    if (data.cpu_ns >= 0) {
        row.cpu_ns = data.cpu_ns;
        row.cpu_wall_ns = data.cpu_wall_ns;
    }
    rows.push_back(row);

    const std::size_t first_part = rows.size();
    for (const Node part : data.children) {
        append_rows(part, level + 1, where, whole_ns, rows);
    }
    if (data.closed || !data.children.empty()) {
        StageRow rest = make_row(data.residuals, rest_of(data), whole_ns);
        rest.stage = kUnattributed;
        rest.where = where;
        rest.level = level + 1;
        rows.push_back(std::move(rest));
    }
    for (std::size_t i = first_part; i < rows.size(); ++i) {
        if (rows[i].level == level + 1) {
            rows[i].parent = row.stage;
        }
    }
}

const StageRow* find_top(const std::vector<StageRow>& rows, std::string_view stage) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const StageRow& candidate) {
            return candidate.level == 0 && candidate.stage == stage;
        });
    return row == rows.end() ? nullptr : &*row;
}

}  // namespace metatrain_timing::analyzer
