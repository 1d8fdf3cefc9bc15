#include "analyzer/analysis/findings.hpp"

namespace metatrain_timing::analyzer {

Findings::Findings(const Run& run)
    : run_(run),
      stages_(run),
      passes_(find_passes(run)),
      groups_(group_passes(run, passes_)) {
    for (const PhaseGroup& group : groups_.groups) {
        series_.push_back(measure_steps(passes_, group));
    }
}

const BatchIndex& Findings::batches() const {
    std::call_once(made_batches_, [&] { batches_.emplace(run_, stages_); });
    return *batches_;
}

}  // namespace metatrain_timing::analyzer
