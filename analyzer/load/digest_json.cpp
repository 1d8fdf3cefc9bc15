#include "analyzer/load/digest_json.hpp"

#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

using nlohmann::json;
using Facts = std::map<std::string, std::string>;

// Of what is kept and how it is computed: a number more where either changes.
constexpr int kDigestVersion = 1;

json to_json(const std::vector<StageTime>& times) {
    json list = json::array();
    for (const StageTime& time : times) {
        list.push_back({{"path", time.path}, {"ns", time.ns}});
    }
    return list;
}

std::vector<StageTime> times_of(const json& list) {
    std::vector<StageTime> times;
    for (const json& one : list) {
        times.push_back({one.at("path").get<StagePath>(), one.at("ns").get<double>()});
    }
    return times;
}

json to_json(const std::vector<Warning>& warnings) {
    json list = json::array();
    for (const Warning& warning : warnings) {
        list.push_back({{"code", warning.code}, {"text", warning.text}});
    }
    return list;
}

std::vector<Warning> warnings_of(const json& list) {
    std::vector<Warning> warnings;
    for (const json& one : list) {
        warnings.push_back(
            {one.at("code").get<std::string>(), one.at("text").get<std::string>()});
    }
    return warnings;
}

}  // namespace

std::string digest_text(const RunDigest& digest) {
    const json content{{"version", kDigestVersion},
                       {"path", digest.path},
                       {"uuid", digest.uuid},
                       {"started_unix_ns", digest.started_unix_ns},
                       {"workload", digest.workload},
                       {"settings", digest.settings},
                       {"steps", digest.steps},
                       {"step_ns", digest.step_ns},
                       {"within", digest.within},
                       {"mean_ns", digest.mean_ns},
                       {"median_ns", digest.median_ns},
                       {"p95_ns", digest.p95_ns},
                       {"p99_ns", digest.p99_ns},
                       {"stages", to_json(digest.stages)},
                       {"fetches", to_json(digest.fetches)},
                       {"shifted", digest.shifted},
                       {"ended", digest.ended},
                       {"warnings", to_json(digest.warnings)}};
    return content.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<RunDigest> parse_digest(const std::string& text) {
    try {
        const json content = json::parse(text);
        if (content.at("version") != kDigestVersion) {
            return std::nullopt;
        }
        RunDigest digest;
        content.at("path").get_to(digest.path);
        content.at("uuid").get_to(digest.uuid);
        content.at("started_unix_ns").get_to(digest.started_unix_ns);
        digest.workload = content.at("workload").get<Facts>();
        digest.settings = content.at("settings").get<Facts>();
        content.at("steps").get_to(digest.steps);
        content.at("step_ns").get_to(digest.step_ns);
        content.at("within").get_to(digest.within);
        content.at("mean_ns").get_to(digest.mean_ns);
        content.at("median_ns").get_to(digest.median_ns);
        content.at("p95_ns").get_to(digest.p95_ns);
        content.at("p99_ns").get_to(digest.p99_ns);
        digest.stages = times_of(content.at("stages"));
        digest.fetches = times_of(content.at("fetches"));
        content.at("shifted").get_to(digest.shifted);
        content.at("ended").get_to(digest.ended);
        digest.warnings = warnings_of(content.at("warnings"));
        return digest;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace metatrain_timing::analyzer
