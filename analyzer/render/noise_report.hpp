#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis/learned_noise.hpp"
#include "analyzer/render/json.hpp"
#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {

/// What `mt-analyze noise` says: what was learned from which runs, and where it is
/// kept.
struct NoiseReport {
    NoiseLesson lesson;
    std::vector<std::string> paths;  // of the runs
    std::string kept_in;
    std::vector<Warning> warnings;
};

/// mt.noise/1; see schemas/noise.json and docs/diff.md.
Json noise_json(const NoiseReport& report);

std::string noise_text(const NoiseReport& report, const TextStyle& style);

}  // namespace metatrain_timing::analyzer
