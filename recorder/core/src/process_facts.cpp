#include "recorder/core/src/process_facts.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <metatrain_timing/version.hpp>

#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/utf8.hpp"

namespace metatrain_timing::detail {

std::string host_name() {
    utsname names{};
    return uname(&names) == 0 ? to_utf8(names.nodename, 255) : "unknown";
}

std::vector<std::pair<std::string, std::string>> process_facts() {
    std::vector<std::pair<std::string, std::string>> facts;
    const auto affinity = platform::affinity_cpu_count();
    const auto quota = platform::quota_cpu_count();
    if (affinity) {
        facts.emplace_back("cpu.affinity", std::to_string(*affinity));
    }
    if (quota) {
        facts.emplace_back("cpu.quota", fmt::format("{:g}", *quota));
    }
    if (affinity || quota) {
        const double granted =
            std::min(affinity ? *affinity : *quota,
                     quota ? *quota : static_cast<double>(*affinity));
        facts.emplace_back("cpu.granted", fmt::format("{:g}", granted));
    }
    if (const std::string model = platform::cpu_model(); !model.empty()) {
        facts.emplace_back("cpu.model", model);
    }
    utsname names{};
    if (uname(&names) == 0) {
        facts.emplace_back("host.kernel",
                           fmt::format("{} {}", names.sysname, names.release));
    }
    facts.emplace_back("recorder.version", std::string(kVersion));
    facts.emplace_back("sqlite.version", sqlite3_libversion());
    return facts;
}

}  // namespace metatrain_timing::detail
