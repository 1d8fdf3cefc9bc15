#pragma once

#include <string>

namespace metatrain_timing::analyzer {

/// Whether this process has the file open. Closing any descriptor of a file drops all
/// fcntl locks that the process has on it, those of a recorder or of SQLite too; so
/// such a file must not be opened and closed beside them.
bool opened_by_this_process(const std::string& path);

/// Whether some process is recording into the run file at `path`: its lock file
/// `<path>.lock` is locked. Takes no lock and changes nothing.
bool is_being_recorded(const std::string& path);

}  // namespace metatrain_timing::analyzer
