#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace metatrain_timing::analyzer {

/// CPUs granted to a process by affinity and cgroup quota; a quota may be a fraction.
/// Nothing where that is not on record.
inline std::optional<double> granted_cpus(
    const std::vector<std::pair<std::string, std::string>>& environment) {
    for (const auto& [key, value] : environment) {
        double cpus = 0;
        if (key == "cpu.granted" &&
            std::from_chars(value.data(), value.data() + value.size(), cpus).ec ==
                std::errc{} &&
            cpus > 0) {
            return cpus;
        }
    }
    return std::nullopt;
}

}  // namespace metatrain_timing::analyzer
