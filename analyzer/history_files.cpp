#include "analyzer/history_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "analyzer/analysis/compared_run.hpp"
#include "analyzer/analysis/run_digest.hpp"
#include "analyzer/error.hpp"
#include "analyzer/load/counted.hpp"
#include "analyzer/load/digest_store.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"
#include "analyzer/load/try_thread.hpp"

namespace metatrain_timing::analyzer {
namespace {

namespace fs = std::filesystem;

// Which files a run may be in, how large they are and when they changed: a file that
// was put in the place of another one has another inode, or at least another ctime.
std::string stamp_of(const RunSource& source) {
    std::string stamp;
    for (const std::string& file : source.files) {
        for (const char* end : {"", "-wal", "-journal"}) {
            struct stat facts{};
            if (stat((file + end).c_str(), &facts) != 0) {
                continue;
            }
            stamp += fmt::format(
                "{}{} {} {} {}.{} {}.{};", fs::path(file).filename().string(), end,
                facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
        }
    }
    return stamp;
}

RunDigest read_run(const std::string& path, const RunRow& row,
                   const std::string& phase) {
    auto run = std::make_unique<const Run>(load_run(path, row.uuid));
    std::vector<Warning> warnings = run->warnings;
    if (const auto prepared = prepare(path, std::move(run), phase)) {
        return digest_run(*prepared);
    }
    RunDigest empty;
    empty.path = path;
    empty.uuid = row.uuid;
    empty.started_unix_ns = row.started_unix_ns;
    empty.ended = false;
    empty.warnings = std::move(warnings);
    return empty;
}

// The runs of a file: those on record in `known` that had ended, and the others read.
std::vector<RunDigest> read_runs(const RunSource& source, const std::string& phase,
                                 const StoredDigests& known) {
    const OpenFiles opened = open_files(source);
    const std::vector<RunRow> rows = distinct_runs(opened.runs);
    std::vector<RunDigest> digests;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto old = std::find_if(
            known.digests.begin(), known.digests.end(), [&](const RunDigest& digest) {
                return digest.uuid == rows[i].uuid && digest.ended;
            });
        digests.push_back(
            old != known.digests.end() ? *old : read_run(source.name, rows[i], phase));
        digests.back().path =
            rows.size() == 1 ? source.name : fmt::format("{}@{}", source.name, i + 1);
    }
    return digests;
}

// One path, and what is in it.
struct FileDigests {
    std::string path;
    std::vector<RunDigest> digests;
    std::string problem;  // why it cannot be read
};

// Takes paths one by one, on any thread.
class Reader {
  public:
    Reader(std::vector<FileDigests>& files, const std::string& phase,
           const std::string& store_path, const OnProgress& on_progress)
        : files_(files), phase_(phase), store_(store_path), on_progress_(on_progress) {}

    bool store_works() { return store_.works(); }

    void read_all() {
        {
            const std::jthread second = try_thread([&] { read_some(); });
            read_some();
        }
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    void read_some() {
        for (std::size_t i = next_++; i < files_.size(); i = next_++) {
            try {
                read(files_[i]);
            } catch (const Error& error) {
                files_[i].problem = error.what();
            } catch (...) {
                const std::lock_guard lock(mutex_);
                failure_ = std::current_exception();
                return;
            }
            const std::lock_guard lock(mutex_);
            ++done_;
            if (on_progress_) {
                on_progress_(done_, files_.size());
            }
        }
    }

    void read(FileDigests& file) {
        const RunSource source = resolve(file.path);
        if (!source.selector.empty()) {
            const OpenFiles opened = open_files(source);
            const std::vector<RunRow> rows = distinct_runs(opened.runs);
            const std::size_t at = select_run(rows, source.selector, source.name);
            file.digests = {read_run(source.name, rows[at], phase_)};
            file.digests.front().path = file.path;
            return;
        }
        StoredDigests stored = store_.find(file.path, phase_);
        const std::string stamp = stamp_of(source);
        if (stored.stamp != stamp || stored.digests.empty()) {
            stored.digests = read_runs(source, phase_, stored);
            stored.stamp = stamp;
            store_.keep(file.path, phase_, stored);
        }
        file.digests = std::move(stored.digests);
    }

    std::vector<FileDigests>& files_;
    const std::string& phase_;
    DigestStore store_;
    const OnProgress& on_progress_;
    std::atomic<std::size_t> next_{0};
    std::mutex mutex_;  // for all below
    std::size_t done_ = 0;
    std::exception_ptr failure_;
};

std::vector<FileDigests> find_files(const std::vector<std::string>& paths) {
    std::vector<FileDigests> files;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::is_directory(path, error) || path.ends_with(".db.d")) {
            files.push_back({path, {}, {}});
            continue;
        }
        for (std::string& found : find_run_paths(path)) {
            files.push_back({std::move(found), {}, {}});
        }
    }
    return files;
}

// Warnings of many runs, each code once.
std::vector<Warning> gather_warnings(const std::vector<RunDigest>& runs) {
    std::map<std::string, std::pair<std::string, std::size_t>> texts;
    for (const RunDigest& run : runs) {
        for (const Warning& warning : run.warnings) {
            auto& [text, count] = texts[warning.code];
            if (++count == 1) {
                text = run.path + ": " + warning.text;
            }
        }
    }
    std::vector<Warning> warnings;
    for (const auto& [code, known] : texts) {
        const auto& [text, count] = known;
        warnings.push_back({code, count == 1 ? text
                                             : fmt::format("{} (and so in {} more)",
                                                           text, count - 1)});
    }
    return warnings;
}

// Runs are put in order by it: one of the future would stay the newest for good.
bool is_a_time(std::int64_t unix_ns) {
    constexpr std::int64_t kYearNs = 365LL * 86'400 * 1'000'000'000;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto now_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    return unix_ns > kYearNs && unix_ns < now_ns + kYearNs / 365;
}

void warn_of_skipped(HistoryFiles& found) {
    constexpr std::int64_t kMost = 3;
    std::int64_t count = 0;
    for (const FileStatus& file : found.files) {
        count += file.read ? 0 : 1;
        if (!file.read && count <= kMost) {
            found.warnings.push_back({"file_skipped", "skipped: " + file.reason});
        }
    }
    if (count > kMost) {
        found.warnings.push_back(
            {"file_skipped", counted(count - kMost, "more file") + " skipped"});
    }
}

}  // namespace

HistoryFiles read_digests(const std::vector<std::string>& paths,
                          const std::string& phase, const std::string& store_path,
                          const OnProgress& on_progress) {
    std::vector<FileDigests> files = find_files(paths);
    Reader reader(files, phase, store_path, on_progress);
    reader.read_all();
    HistoryFiles found;
    std::size_t without_time = 0;
    std::size_t without_steps = 0;
    for (FileDigests& file : files) {
        found.files.push_back({file.path, file.problem.empty(), file.problem});
        for (RunDigest& digest : file.digests) {
            if (digest.steps == 0) {
                ++without_steps;
            } else if (!is_a_time(digest.started_unix_ns)) {
                ++without_time;
            } else {
                found.runs.push_back(std::move(digest));
            }
        }
    }
    if (found.runs.empty()) {
        const auto unread =
            std::find_if(files.begin(), files.end(),
                         [](const FileDigests& file) { return !file.problem.empty(); });
        if (unread != files.end() && without_steps == 0) {
            throw Error(unread->problem);
        }
        throw Error(paths.front() + ": no run with complete steps" +
                    (phase.empty() ? "" : " of a phase '" + phase + "'"));
    }
    found.warnings = gather_warnings(found.runs);
    warn_of_skipped(found);
    if (without_time > 0) {
        found.warnings.push_back(
            {"no_order", counted(static_cast<std::int64_t>(without_time), "run") +
                             " left out: by their clocks they began before 1971 or "
                             "after today"});
    }
    if (!reader.store_works()) {
        found.warnings.push_back(
            {"cache_unusable", store_path +
                                   ": cannot be used to keep what was read; "
                                   "remove it, or set METATRAIN_TIMING_CACHE"});
    }
    if (without_steps > 0) {
        found.warnings.push_back(
            {"no_steps", counted(static_cast<std::int64_t>(without_steps), "run") +
                             " without complete steps left out"});
    }
    return found;
}

}  // namespace metatrain_timing::analyzer
