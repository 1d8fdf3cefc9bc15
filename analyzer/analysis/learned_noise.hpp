#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/compared_run.hpp"
#include "analyzer/model/learned_noise.hpp"

namespace metatrain_timing::analyzer {

/// The values of the workload that a run belongs to; see `LearnedNoise::workload`.
std::map<std::string, std::string> workload_of_run(const ComparedRun& run);

/// One run, as `learn_noise()` sees it.
struct NoiseRun {
    double step_ns = 0;
    double within = 0;  // relative standard error of step_ns that the run itself tells
};

/// Noise and what it was learned from.
struct NoiseLesson {
    LearnedNoise noise;
    std::vector<NoiseRun> runs;  // in the order given
    /// Facts that differ between the runs: something was changed.
    std::vector<ChangedFact> changed;
};

/// From at least three runs. Variance from run to run is that of their step times less
/// what each is uncertain by, but at least half: of few runs the difference may be
/// little by chance, and then too much would be taken for real. Pure.
NoiseLesson learn_noise(std::span<const ComparedRun> runs);

}  // namespace metatrain_timing::analyzer
