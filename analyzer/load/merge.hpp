#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// What a merge did.
struct MergeResult {
    std::string path;            // of the merged file
    std::size_t file_count = 0;  // files read
    std::size_t run_count = 0;
    std::vector<Warning> warnings;
};

/// Writes all runs of `path`, or the one that `run` names, into the new file `output`:
/// one database that answers for whole runs. Nothing is ever overwritten: throws Error
/// where `output` exists, also where it comes to exist meanwhile.
MergeResult merge_to(const std::string& path, const std::string& run,
                     const std::string& output);

/// Folds the files of `<path>.d/` into `path` and removes them, and the folder if
/// nothing is left in it. Throws Error, with nothing changed, where a process is
/// recording or a file turns out to be damaged. Whenever this is interrupted, nothing
/// is lost: the folded file takes the place of `path` in one step, and files that are
/// not yet removed then hold only what readers know from there.
MergeResult merge_in_place(const std::string& path);

}  // namespace metatrain_timing::analyzer
