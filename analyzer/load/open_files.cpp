#include "analyzer/load/open_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace metatrain_timing::analyzer {
namespace {

// Files that stay open, of one or two descriptors each: with room for the rest of the
// process below its limit, usually 1024.
std::size_t most_open() {
    constexpr long kOthers = 64;
    constexpr long kLeast = 4;
    constexpr long kMost = 200;
    const long limit = sysconf(_SC_OPEN_MAX);
    return static_cast<std::size_t>(
        limit < 0 ? kMost : std::clamp((limit - kOthers) / 2, kLeast, kMost));
}

void note_others(const RunSource& source, OpenFiles& opened) {
    if (source.others.empty()) {
        return;
    }
    std::string names;
    constexpr std::size_t kShown = 5;
    for (std::size_t i = 0; i < source.others.size(); ++i) {
        opened.statuses.push_back({source.others[i], false, "not a run file"});
        if (i < kShown) {
            names += (i == 0 ? "" : ", ") + source.others[i];
        }
    }
    if (source.others.size() > kShown) {
        names += fmt::format(" and {} more", source.others.size() - kShown);
    }
    opened.warnings.push_back({"files_ignored", "not run files: " + names});
}

[[noreturn]] void fail_unreadable(const RunSource& source, const OpenFiles& opened) {
    for (const FileStatus& status : opened.statuses) {
        if (status.path == source.name || opened.statuses.size() == 1) {
            throw Error(status.path + ": " + status.reason);
        }
    }
    throw Error(
        fmt::format("{}: none of {} files is a readable run; the first is {} ({})",
                    source.name, opened.statuses.size(), opened.statuses.front().path,
                    opened.statuses.front().reason));
}

}  // namespace

OpenFiles open_files(const RunSource& source) {
    OpenFiles opened;
    opened.name = source.name;
    opened.warnings = source.warnings;
    const std::size_t most = most_open();
    for (const std::string& path : source.files) {
        try {
            RunFile file = RunFile::open(path);
            opened.runs.push_back(read_runs(file.database()));
            if (opened.files.size() >= most) {
                file.release();
            }
            opened.files.push_back(std::move(file));
            opened.statuses.push_back({path, true, ""});
        } catch (const Error& error) {
            opened.statuses.push_back({path, false, error.what()});
            opened.warnings.push_back(
                {"file_skipped", path + ": not read: " + error.what()});
        }
    }
    note_others(source, opened);
    if (opened.files.empty()) {
        fail_unreadable(source, opened);
    }
    return opened;
}

}  // namespace metatrain_timing::analyzer
