#pragma once

#include "analyzer/analysis/compared_run.hpp"
#include "analyzer/model/run_digest.hpp"

namespace metatrain_timing::analyzer {

/// All steady steps of the run count. Pure; O(n log n) in the intervals of the phase.
RunDigest digest_run(const ComparedRun& run);

}  // namespace metatrain_timing::analyzer
