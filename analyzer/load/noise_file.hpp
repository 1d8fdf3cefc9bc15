#pragma once

#include <string>
#include <vector>

#include "analyzer/model/learned_noise.hpp"

namespace metatrain_timing::analyzer {

/// Where `mt-analyze noise` keeps what it learns: METATRAIN_TIMING_NOISE, else
/// metatrain-timing/noise.json in XDG_STATE_HOME or ~/.local/state. Empty where none of
/// these is set.
std::string noise_path();

/// Nothing for a file that does not exist.
/// @throws Error with one line for a file that is no noise file.
std::vector<LearnedNoise> read_noise(const std::string& path);

/// Puts an entry into the file, in the place of the one for its workload. Makes the
/// folder; the file is replaced in one step, so that a reader sees all or nothing.
/// @throws Error with one line.
void keep_noise(const std::string& path, const LearnedNoise& entry);

}  // namespace metatrain_timing::analyzer
