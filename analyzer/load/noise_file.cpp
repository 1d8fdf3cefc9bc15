#include "analyzer/load/noise_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "analyzer/error.hpp"
#include "analyzer/load/environment.hpp"

namespace metatrain_timing::analyzer {
namespace {

using nlohmann::json;

constexpr const char* kNoiseSchema = "mt.noise_file/1";

LearnedNoise entry_of(const json& one) {
    LearnedNoise entry;
    entry.workload = one.at("workload").get<std::map<std::string, std::string>>();
    entry.relative = one.at("relative").get<double>();
    entry.runs = one.at("runs").get<std::int64_t>();
    entry.learned_unix_ns = one.at("learned_unix_ns").get<std::int64_t>();
    if (!(entry.relative >= 0 && entry.relative <= 1) || entry.runs < 2) {
        throw Error("a value is out of range");
    }
    return entry;
}

json to_json(const std::vector<LearnedNoise>& entries) {
    json list = json::array();
    for (const LearnedNoise& entry : entries) {
        list.push_back({{"workload", entry.workload},
                        {"relative", entry.relative},
                        {"runs", entry.runs},
                        {"learned_unix_ns", entry.learned_unix_ns}});
    }
    return {{"schema", kNoiseSchema}, {"noise", std::move(list)}};
}

}  // namespace

std::string noise_path() {
    return user_file("METATRAIN_TIMING_NOISE", "XDG_STATE_HOME", ".local/state",
                     "noise.json");
}

std::vector<LearnedNoise> read_noise(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        if (path.empty() || !std::filesystem::exists(path)) {
            return {};
        }
        throw Error(path + ": cannot be read; give --run-noise, or move it away");
    }
    try {
        const json content = json::parse(file);
        if (content.at("schema") != kNoiseSchema) {
            throw Error("another schema");
        }
        std::vector<LearnedNoise> entries;
        for (const json& one : content.at("noise")) {
            entries.push_back(entry_of(one));
        }
        return entries;
    } catch (const std::exception&) {
        throw Error(path +
                    ": not a file of mt-analyze noise; give --run-noise, or move it "
                    "away");
    }
}

void keep_noise(const std::string& path, const LearnedNoise& entry) {
    if (path.empty()) {
        throw Error("noise: no place to keep it; set METATRAIN_TIMING_NOISE to a path");
    }
    std::vector<LearnedNoise> entries = read_noise(path);
    std::erase_if(entries, [&](const LearnedNoise& other) {
        return other.workload == entry.workload;
    });
    entries.push_back(entry);
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) {
        std::filesystem::create_directories(folder, error);
    }
    const std::string next = path + "." + std::to_string(getpid());
    std::ofstream file(next);
    file << to_json(entries).dump(2, ' ', false, json::error_handler_t::replace)
         << '\n';
    file.close();
    if (file) {
        std::filesystem::rename(next, path, error);
    }
    if (!file || error) {
        std::filesystem::remove(next, error);
        throw Error(path + ": cannot be written; set METATRAIN_TIMING_NOISE to a path");
    }
}

}  // namespace metatrain_timing::analyzer
