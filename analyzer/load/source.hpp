#pragma once

#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// The files that a path on the command line stands for, and the run that is wanted.
struct RunSource {
    std::string name;                 // of the file or folder, for messages
    std::vector<std::string> files;   // to be read, in this order
    std::vector<std::string> others;  // files of a folder that claim to be no run files
    std::string selector;             // index or beginning of a uuid; empty: the newest
    std::vector<Warning> warnings;    // about processes that were killed
};

/// Finds the files of `path`: a run file with those of `<path>.d/`, the folder `X.d`
/// with `X`, or any other folder with the run files in it and in its `*.db.d` folders.
/// Files that SQLite or the recorder keep beside a run file are left out.
///
/// Processes that were killed while they recorded for it have their last records saved
/// first, see recovery.hpp: their files may come into being by that.
///
/// "<path>@<selector>" names a run unless a file has that very name; `selector` (of
/// --run) does so too. Throws Error where there is nothing of that name, or both are
/// given.
RunSource resolve(const std::string& path, const std::string& selector = "");

/// The paths of all run files in a folder and the folders in it, each of which
/// `resolve()` takes: a run file stands for its own folder `X.d` too. Sorted; links to
/// folders are not followed. Throws Error where the folder cannot be listed.
std::vector<std::string> find_run_paths(const std::string& folder);

}  // namespace metatrain_timing::analyzer
