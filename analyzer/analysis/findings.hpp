#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "analyzer/analysis/batch_index.hpp"
#include "analyzer/analysis/loops.hpp"
#include "analyzer/analysis/phase_groups.hpp"
#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/step_series.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What the analyses of a run stand on, found once: its loops, which of their steps
/// are steady, and what is on record of each batch. `run` must outlive it.
class Findings {
  public:
    explicit Findings(const Run& run);

    const Run& run() const { return run_; }
    const StageNumbers& stages() const { return stages_; }
    const std::vector<Pass>& passes() const { return passes_; }
    const PhaseGroups& groups() const { return groups_; }
    /// One for each group.
    const std::vector<StepSeries>& series() const { return series_; }
    /// Made on first use, as long runs have many. Thread-safe.
    const BatchIndex& batches() const;

  private:
    const Run& run_;
    const StageNumbers stages_;
    const std::vector<Pass> passes_;
    const PhaseGroups groups_;
    std::vector<StepSeries> series_;
    mutable std::once_flag made_batches_;
    mutable std::optional<BatchIndex> batches_;
};

}  // namespace metatrain_timing::analyzer
