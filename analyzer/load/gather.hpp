#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/database.hpp"
#include "analyzer/load/open_files.hpp"

namespace metatrain_timing::analyzer {

/// The small tables of every file; damage is noted in `opened`.
std::vector<FileTables> read_all_tables(OpenFiles& opened);

/// `assemble()` for a run of these files.
AssembledRun assemble_run(const RunRow& identity, const std::vector<FileTables>& tables,
                          OpenFiles& opened);

/// A file turned out to be damaged behind its head.
void note_damage(OpenFiles& opened, const std::string& path, const std::string& what);

/// Warnings that workers' files of these runs are not there.
std::vector<Warning> missing_files(const std::vector<RunRow>& runs, OpenFiles& opened);

/// Writes these runs, of the files that hold them, into the empty database `out`:
/// tables, rows and views. Notes in `opened` what is missing: worker files, rows that
/// were left out since what they refer to is not there, and damaged files, whose
/// readable part is written.
void gather(const std::vector<RunRow>& runs, OpenFiles& opened, const Database& out);

}  // namespace metatrain_timing::analyzer
