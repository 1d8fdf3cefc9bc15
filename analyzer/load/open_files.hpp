#pragma once

#include <string>
#include <vector>

#include "analyzer/load/run_file.hpp"
#include "analyzer/load/source.hpp"
#include "analyzer/load/tables.hpp"
#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// The readable files of a source, and what became of the others.
struct OpenFiles {
    std::string name;
    std::vector<RunFile> files;
    std::vector<std::vector<RunRow>> runs;  // of each file
    std::vector<FileStatus> statuses;       // of every file considered
    std::vector<Warning> warnings;
};

/// Opens all files of a source. Throws Error where none can be read; the reason of the
/// only file, or that of the file that was named, is the message.
OpenFiles open_files(const RunSource& source);

}  // namespace metatrain_timing::analyzer
