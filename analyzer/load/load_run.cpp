#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <map>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <mutex>
#include <thread>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/counted.hpp"
#include "analyzer/load/gather.hpp"
#include "analyzer/load/intervals.hpp"
#include "analyzer/load/missing_workers.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Reads the files with two threads, each the next file that nobody has taken.
IntervalProblems read_all_intervals(OpenFiles& opened, AssembledRun& assembled) {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    IntervalProblems total;
    std::exception_ptr failure;
    const auto work = [&] {
        for (std::size_t i = next++; i < opened.files.size(); i = next++) {
            if (assembled.files[i].track_targets.empty()) {
                continue;
            }
            try {
                const IntervalProblems problems = read_intervals(
                    opened.files[i].database(), assembled.files[i], assembled.run);
                opened.files[i].release();
                const std::lock_guard lock(mutex);
                total.dangling += problems.dangling;
                total.impossible += problems.impossible;
                total.cut += problems.cut;
            } catch (const Error& error) {
                const std::lock_guard lock(mutex);
                note_damage(opened, opened.files[i].path(), error.what());
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
        }
    };
    if (opened.files.size() > 1) {
        std::jthread second(work);
        work();
    } else {
        work();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return total;
}

void warn_about_rows(const IntervalProblems& problems, std::int64_t small_rows,
                     std::vector<Warning>& warnings) {
    const std::int64_t dangling = problems.dangling + small_rows;
    if (dangling > 0) {
        warnings.push_back(
            {"rows_skipped", counted(dangling, "row") +
                                 " skipped: what they refer to is not in their file"});
    }
    if (problems.impossible > 0) {
        warnings.push_back(
            {"rows_impossible", counted(problems.impossible, "row") +
                                    " skipped: impossible times or values"});
    }
    if (problems.cut > 0) {
        warnings.push_back(
            {"intervals_cut", counted(problems.cut, "interval") +
                                  " cut at the end of the interval they began in"});
    }
}

void warn_about_processes(const Run& run, std::vector<Warning>& warnings) {
    std::int64_t dropped = 0;
    std::int64_t processes = 0;
    std::int64_t alive = 0;
    std::map<std::pair<std::string, std::string>, int> problems;
    for (const Process& process : run.processes) {
        if (process.dropped_count > 0 &&
            !__builtin_add_overflow(dropped, process.dropped_count, &dropped)) {
            ++processes;
        }
        alive += process.alive ? 1 : 0;
        for (const Warning& problem : process.health) {
            ++problems[{problem.code, problem.text}];
        }
    }
    if (alive > 0) {
        warnings.push_back(
            {"still_recording", "still recording in " + counted(alive, "process") +
                                    ": this is what was written so far"});
    }
    if (dropped > 0) {
        warnings.push_back(
            {"records_dropped",
             counted(dropped, "record") + " lost since a buffer was full, in " +
                 counted(processes, "process") + ": totals are too small"});
    }
    for (const auto& [problem, count] : problems) {
        const auto& [code, text] = problem;
        warnings.push_back(
            {code, count == 1 ? text : fmt::format("{} ({} times)", text, count)});
    }
}

void warn_about_missing_files(const Run& run, std::vector<Warning>& warnings) {
    const std::int64_t missing = missing_worker_files(run);
    if (missing > 0) {
        warnings.push_back(
            {"worker_files_missing",
             counted(missing, "worker file") +
                 " not found: what these workers did is not known; keep run.db and "
                 "run.db.d/"
                 " together, or carry home what 'mt-analyze merge' makes"});
    }
}

}  // namespace

Run load_run(const std::string& path, const std::string& run) {
    const RunSource source = resolve(path, run);
    OpenFiles opened = open_files(source);
    const std::vector<RunRow> runs = distinct_runs(opened.runs);
    const RunRow& identity = runs[select_run(runs, source.selector, source.name)];

    const std::vector<FileTables> tables = read_all_tables(opened);
    AssembledRun assembled = assemble_run(identity, tables, opened);
    const IntervalProblems problems = read_all_intervals(opened, assembled);

    Run& loaded = assembled.run;
    std::int64_t small_rows = 0;
    for (const FileIds& ids : assembled.files) {
        small_rows += ids.skipped_rows;
    }
    loaded.warnings = std::move(opened.warnings);
    warn_about_rows(problems, small_rows, loaded.warnings);
    warn_about_missing_files(loaded, loaded.warnings);
    warn_about_processes(loaded, loaded.warnings);
    loaded.files = std::move(opened.statuses);
    return std::move(assembled.run);
}

}  // namespace metatrain_timing::analyzer
