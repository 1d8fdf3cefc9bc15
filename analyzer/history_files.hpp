#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"
#include "analyzer/model/run_digest.hpp"

namespace metatrain_timing::analyzer {

/// What files hold that are looked at together.
struct HistoryFiles {
    std::vector<RunDigest> runs;  // those with steps of the phase
    std::vector<FileStatus> files;
    std::vector<Warning> warnings;  // each once, with where it was found first
};

/// Is told how many files of how many are done, by one thread at a time; may be empty.
using OnProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Digests of all runs in files and folders, those in them too; "FILE@RUN" is one run.
///
/// Only runs that the store at `store_path` does not have, or that went on since, are
/// read, by two threads; an empty path keeps nothing. Files that cannot be read are in
/// `files` with the reason.
///
/// @throws Error with one line where a path is nothing, or there is no run with steps.
HistoryFiles read_digests(const std::vector<std::string>& paths,
                          const std::string& phase, const std::string& store_path,
                          const OnProgress& on_progress);

}  // namespace metatrain_timing::analyzer
