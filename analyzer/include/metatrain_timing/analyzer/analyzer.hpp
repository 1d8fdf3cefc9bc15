#pragma once

#include <metatrain_timing/analyzer/run.hpp>

#include <map>
#include <string>

/// Reading recorded runs from C++: the same code as the program mt-analyze.
///
/// Files are opened read-only and never changed; they may come from strangers. A path
/// is a run file ("run.db", together with the folder "run.db.d" of its workers and
/// ranks), a folder of run files, or either with "@<run>". A run is named by its index
/// as `mt-analyze runs` shows it or by the beginning of its uuid; empty: the newest.
///
/// All functions may be called from any thread, at the same time, and from the process
/// that is recording. They throw `analyzer::Error` (a std::runtime_error) with one line
/// of text when there is nothing to read.
namespace metatrain_timing::analyzer {

/// One run with everything its files hold. What was skipped, repaired or is missing is
/// told in `files` and `warnings`. Time and memory: about 0.2 us and 32 bytes an
/// interval.
Run load_run(const std::string& path, const std::string& run = "");

/// The text that `mt-analyze <command> <path> --format json` prints.
///
/// `command` is "diff", "export", "history", "import", "report", "runs", "sql" or
/// "whatif". Options have
/// the names of the command line without the dashes before them: "run"; for sql also
/// "query"; for report "phase"; for whatif "phase", "num-workers", "prefetch-factor",
/// "in-order", "persistent-workers" and "pin-memory", each a list as "0,1,2" or
/// "true,false", and "scale", a line "STAGE=FACTOR" for each stage; for diff "before"
/// (else `path`) and "after", a path in each line, "phase", "min-effect", "run-noise",
/// "gate", "fail-on" (a list), and "strict" and "force", which are "true"; for history
/// "paths" (else `path`), a path in each line, "metric", "phase", "by", "min-effect"
/// and "fail-on"; for export "output", "steps" and "rank"; for import (`path` is a
/// trace in each line) "from" and "output". These two write that file, and tell how
/// much of it there is, with `warnings`.
std::string run_json(const std::string& command, const std::string& path,
                     const std::map<std::string, std::string>& options = {});

}  // namespace metatrain_timing::analyzer
