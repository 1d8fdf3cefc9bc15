#include "analyzer/analysis/history_metric.hpp"

#include <array>
#include <set>
#include <utility>

#include "analyzer/error.hpp"
#include "analyzer/model/stage_path.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::array<std::pair<const char*, double RunDigest::*>, 5> kWholes{
    {{"step", &RunDigest::step_ns},
     {"mean", &RunDigest::mean_ns},
     {"median", &RunDigest::median_ns},
     {"p95", &RunDigest::p95_ns},
     {"p99", &RunDigest::p99_ns}}};

}  // namespace

std::optional<double> metric_ns(const RunDigest& run, const std::string& name) {
    for (const auto& [whole, value] : kWholes) {
        if (name == whole) {
            return run.*value;
        }
    }
    for (const auto* times : {&run.stages, &run.fetches}) {
        for (const StageTime& time : *times) {
            if (path_name(time.path) == name) {
                return time.ns;
            }
        }
    }
    return std::nullopt;
}

std::string find_metric_name(std::span<const RunDigest> runs, const std::string& name) {
    std::set<std::string> paths;
    for (const RunDigest& run : runs) {
        if (metric_ns(run, name)) {
            return name;
        }
        for (const auto* times : {&run.stages, &run.fetches}) {
            for (const StageTime& time : *times) {
                if (time.path.back() == name) {
                    paths.insert(path_name(time.path));
                }
            }
        }
    }
    if (paths.empty()) {
        throw Error("--metric " + name + ": no such metric or stage in these runs",
                    ErrorCode::usage);
    }
    if (paths.size() > 1) {
        throw Error("--metric " + name + ": there are several, say " + *paths.begin() +
                        " or " + *std::next(paths.begin()),
                    ErrorCode::usage);
    }
    return *paths.begin();
}

}  // namespace metatrain_timing::analyzer
