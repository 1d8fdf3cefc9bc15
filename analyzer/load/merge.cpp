#include "analyzer/load/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <metatrain_timing/schema/sql.hpp>
#include <system_error>
#include <utility>

#include "analyzer/load/counted.hpp"
#include "analyzer/load/gather.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/load/partial_file.hpp"
#include "analyzer/load/run_file.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"
#include "analyzer/load/write_lock.hpp"

namespace metatrain_timing::analyzer {
namespace {

namespace fs = std::filesystem;

// A newer minor version has columns that would be lost.
void refuse_newer_minor(OpenFiles& opened) {
    for (RunFile& file : opened.files) {
        if (file.user_version() > schema::kUserVersion) {
            throw Error(
                fmt::format("{}: its schema is newer than this version writes ({});"
                            " update mt-analyze",
                            file.path(), schema::kVersion));
        }
    }
}

void write_database(const std::string& path, const std::vector<RunRow>& runs,
                    OpenFiles& opened) {
    const Database out = Database::open_writable(path);
    // Until it is complete the file has another name: no journal is needed.
    out.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;");
    gather(runs, opened, out);
    out.execute("COMMIT; PRAGMA journal_mode = DELETE;");
}

void warn_about_live_files(const OpenFiles& opened, std::vector<Warning>& warnings) {
    const auto live = std::count_if(opened.files.begin(), opened.files.end(),
                                    [](const RunFile& file) { return file.live(); });
    if (live > 0) {
        warnings.push_back(
            {"still_recording", "still being recorded: " + counted(live, "file") +
                                    "; what comes later is not in the merged file"});
    }
}

void refuse_damage(const OpenFiles& opened) {
    for (const Warning& warning : opened.warnings) {
        if (warning.code == "file_damaged") {
            throw Error(warning.text +
                        "; nothing was changed, merge into a new file with -o");
        }
    }
}

// Brings what a dead owner left half done to its end, so that no journal stays behind
// that would be taken for one of the merged file.
void recover(const std::string& path) {
    if (!fs::exists(path) || !has_our_header(path)) {
        return;
    }
    refuse_foreign_journal(path);
    const Database db = Database::open_writable(path);
    harden(db);
    db.integer("SELECT count(*) FROM sqlite_schema");
    db.execute("PRAGMA journal_mode = DELETE");
}

void remove_part(const std::string& path) {
    std::error_code error;
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
        fs::remove(path + suffix, error);
    }
}

}  // namespace

MergeResult merge_to(const std::string& path, const std::string& run,
                     const std::string& output) {
    if (std::error_code ignored; fs::exists(fs::symlink_status(output, ignored))) {
        throw Error(output + ": exists and is not overwritten; choose another name");
    }
    const RunSource source = resolve(path, run);
    OpenFiles opened = open_files(source);
    refuse_newer_minor(opened);
    std::vector<RunRow> runs = distinct_runs(opened.runs);
    const std::size_t selected = select_run(runs, source.selector, source.name);
    if (!source.selector.empty()) {
        runs = {runs[selected]};
    }
    PartialFile partial(output);
    write_database(partial.name(), runs, opened);
    partial.make_durable();
    partial.become_new(output);
    MergeResult result{output, opened.files.size(), runs.size(),
                       std::move(opened.warnings)};
    warn_about_live_files(opened, result.warnings);
    return result;
}

MergeResult merge_in_place(const std::string& path) {
    const RunSource source = resolve(path);
    if (!source.selector.empty()) {
        throw Error(path + ": --in-place keeps all runs; name none", ErrorCode::usage);
    }
    const std::string folder = source.name + ".d";
    if (!fs::is_regular_file(source.name)) {
        throw Error(source.name +
                    ": no run file; merge a folder into a new file with -o");
    }
    std::vector<WriteLock> locks;  // until all is done: no process starts to write
    for (const std::string& file : source.files) {
        locks.emplace_back(file);
    }
    for (const std::string& file : source.files) {
        recover(file);
    }
    OpenFiles opened = open_files(source);
    refuse_newer_minor(opened);
    if (!opened.statuses.front().read) {
        throw Error(source.name + ": " + opened.statuses.front().reason);
    }
    const std::vector<RunRow> runs = distinct_runs(opened.runs);
    select_run(runs, "", source.name);
    MergeResult result{source.name, opened.files.size(), runs.size(), {}};
    if (opened.files.size() > 1) {
        PartialFile partial(source.name);
        write_database(partial.name(), runs, opened);
        refuse_damage(opened);
        partial.make_durable();
        partial.replace(source.name);
        for (std::size_t i = 1; i < opened.files.size(); ++i) {
            remove_part(opened.files[i].path());
        }
    }
    locks.clear();
    std::error_code ignored;
    fs::remove(folder, ignored);  // only if nothing is left in it
    result.warnings = std::move(opened.warnings);
    return result;
}

}  // namespace metatrain_timing::analyzer
