#pragma once

#include <cstdint>
#include <string>

namespace metatrain_timing::analyzer {

/// Spread of runs of one workload that nothing was changed in, as a part of the step
/// time.
struct RunNoise {
    double relative = 0;  // standard deviation
    double df = 0;        // runs it was learned from, less one; infinity: given
    std::string source;   // "assumed", "given", or where it was learned
    std::int64_t runs = 0;
};

/// What is taken for the noise of runs where nobody knows it: about 1 %, as of a guess
/// from four runs. Of published series of runs of one program it was between 0.01 and
/// 5 %; so long tails are needed, see docs/diff.md.
RunNoise assumed_noise();

struct DiffOptions {
    double min_effect = 0.02;  // as a part of the step time
    double confidence = 0.99;
    RunNoise noise = assumed_noise();
    bool strict = false;  // a regression is what surely exceeds the least effect
    bool force = false;   // compare different workloads too
    std::string phase;    // empty: the training
};

}  // namespace metatrain_timing::analyzer
