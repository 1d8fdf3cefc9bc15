#include "analyzer/load/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

namespace metatrain_timing::analyzer {
namespace {

std::optional<std::size_t> as_index(const std::string& selector) {
    std::size_t index = 0;
    const char* end = selector.data() + selector.size();
    const auto [rest, error] = std::from_chars(selector.data(), end, index);
    return error == std::errc{} && rest == end ? std::optional(index) : std::nullopt;
}

}  // namespace

std::vector<RunRow> distinct_runs(const std::vector<std::vector<RunRow>>& files) {
    std::map<std::string, RunRow> merged;
    for (const auto& rows : files) {
        for (const RunRow& row : rows) {
            const auto [entry, is_new] = merged.try_emplace(row.uuid, row);
            RunRow& run = entry->second;
            const auto started = std::min(run.started_unix_ns, row.started_unix_ns);
            if (!is_new && !run.attempt && row.attempt) {
                run = row;
            }
            run.started_unix_ns = started;
        }
    }
    std::vector<RunRow> runs;
    for (auto& [uuid, run] : merged) {
        runs.push_back(std::move(run));
    }
    std::sort(runs.begin(), runs.end(), [](const RunRow& a, const RunRow& b) {
        return std::tie(a.started_unix_ns, a.uuid) <
               std::tie(b.started_unix_ns, b.uuid);
    });
    return runs;
}

std::size_t select_run(const std::vector<RunRow>& runs, const std::string& selector,
                       const std::string& name) {
    if (runs.empty()) {
        throw Error(name + ": holds no run yet; is the training still starting?");
    }
    if (selector.empty()) {
        return runs.size() - 1;
    }
    const std::optional<std::size_t> index = as_index(selector);
    if (index && *index >= 1 && *index <= runs.size()) {
        return *index - 1;
    }
    std::vector<std::size_t> matches;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].uuid.starts_with(selector)) {
            matches.push_back(i);
        }
    }
    if (matches.size() == 1) {
        return matches.front();
    }
    throw Error(fmt::format("{}: {} '{}'; see 'mt-analyze runs'", name,
                            matches.empty() ? "no run" : "several runs begin with",
                            selector));
}

}  // namespace metatrain_timing::analyzer
