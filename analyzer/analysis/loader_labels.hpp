#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/loops.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// A name for each loader of the run, in the order of Run::loaders, that tells loaders
/// apart and is the same on every rank.
///
/// A script that makes a new loader for every epoch has one loader to its mind: loaders
/// of one name and place share a label if each came into use after the one before had
/// gone out of it. Others that share a name get " #2", " #3", ... in the order of use.
std::vector<std::string> loader_labels(const Run& run, std::span<const Pass> passes);

}  // namespace metatrain_timing::analyzer
