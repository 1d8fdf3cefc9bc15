#include "analyzer/load/merge.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <metatrain_timing/schema/sql.hpp>
#include <system_error>
#include <utility>

#include "analyzer/load/counted.hpp"
#include "analyzer/load/gather.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/load/run_file.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"
#include "analyzer/load/write_lock.hpp"

namespace metatrain_timing::analyzer {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
    throw Error(path + ": " + what + " (" + std::generic_category().message(error) +
                ")");
}

// A new, empty file beside `path`, removed unless it was given its name.
class PartialFile {
  public:
    explicit PartialFile(const std::string& path) : name_(path + ".partial-XXXXXX") {
        const int descriptor = mkstemp(name_.data());
        if (descriptor < 0) {
            fail(path, "cannot be written", errno);
        }
        const mode_t mask = umask(0);
        umask(mask);
        fchmod(descriptor, 0666 & ~mask);
        close(descriptor);
    }

    ~PartialFile() {
        if (!name_.empty()) {
            unlink(name_.c_str());
        }
    }

    PartialFile(const PartialFile&) = delete;
    PartialFile& operator=(const PartialFile&) = delete;

    const std::string& name() const { return name_; }

    void make_durable() const {
        const int descriptor = open(name_.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0 || fsync(descriptor) != 0) {
            fail(name_, "cannot be written", errno);
        }
        close(descriptor);
    }

    // As the new file `path`; nothing is overwritten, whoever makes it meanwhile.
    void become_new(const std::string& path) {
        if (link(name_.c_str(), path.c_str()) == 0) {
            return;  // the other name goes with this object
        }
        if (errno == EEXIST) {
            fail(path, "not overwritten", EEXIST);
        }
        // some filesystems have no hard links
        if (renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path.c_str(),
                      RENAME_NOREPLACE) != 0) {
            fail(path, "cannot be written", errno);
        }
        name_.clear();
    }

    void replace(const std::string& path) {
        if (rename(name_.c_str(), path.c_str()) != 0) {
            fail(path, "cannot be replaced", errno);
        }
        name_.clear();
    }

  private:
    std::string name_;
};

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
