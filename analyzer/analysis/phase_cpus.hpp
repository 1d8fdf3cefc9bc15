#pragma once

#include <optional>
#include <span>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What the first rank of a group uses of the CPUs while the group's passes last, by
/// readings a second apart. Nothing where there are none.
struct PhaseCpus {
    std::optional<double> granted;      // by affinity and cgroup quota
    std::optional<double> main_cpus;    // used by the training process, all threads
    std::optional<double> worker_cpus;  // used by its workers together
    /// Part of the time in which the training thread could run and had no CPU.
    std::optional<double> main_queued_share;
    /// The same of the workers' threads, of the time they spend on batches.
    std::optional<double> worker_queued_share;
};

PhaseCpus measure_phase_cpus(const Run& run, std::span<const Pass> passes,
                             const PhaseGroup& group);

}  // namespace metatrain_timing::analyzer
