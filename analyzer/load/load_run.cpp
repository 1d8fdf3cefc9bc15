#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <map>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/counted.hpp"
#include "analyzer/load/gather.hpp"
#include "analyzer/load/intervals.hpp"
#include "analyzer/load/missing_workers.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"
#include "analyzer/load/totals.hpp"
#include "analyzer/load/try_thread.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Reads large files one by one, the others with two threads, each of which takes the
// next file that nobody has taken.
class IntervalLoader {
  public:
    IntervalLoader(OpenFiles& opened, AssembledRun& assembled)
        : opened_(opened), assembled_(assembled) {}

    IntervalProblems load() {
        for (std::size_t i = 0; i < opened_.files.size(); ++i) {
            load_file(i, true);
        }
        if (small_.size() > 1) {
            const std::jthread second = try_thread([&] { load_small(); });
            load_small();
        } else {
            load_small();
        }
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        return problems_;
    }

  private:
    void load_file(std::size_t i, bool large) {
        RunFile& file = opened_.files[i];
        const FileIds& ids = assembled_.files[i];
        IntervalProblems problems;
        std::string damage;
        try {
            if (ids.track_targets.empty()) {
                return;
            }
            if (large && !is_large(file)) {
                small_.push_back(i);
                return;
            }
            read_totals(file, ids, assembled_.run, problems);
            if (large) {
                read_intervals_in_parallel(file, ids, assembled_.run, problems);
            } else {
                read_intervals(file, ids, assembled_.run, problems);
            }
        } catch (const Error& error) {
            damage = error.what();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
        }
        file.release();
        const std::lock_guard lock(mutex_);
        problems_.add(problems);
        if (!damage.empty()) {
            note_damage(opened_, file.path(), damage);
        }
    }

    void load_small() {
        for (std::size_t i = next_++; i < small_.size(); i = next_++) {
            load_file(small_[i], false);
        }
    }

    OpenFiles& opened_;
    AssembledRun& assembled_;
    std::vector<std::size_t> small_;  // files, by index
    std::atomic<std::size_t> next_{0};
    std::mutex mutex_;  // for all below
    IntervalProblems problems_;
    std::exception_ptr failure_;
};

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

// How much of a run that passed its size limit was kept one by one: the worst process.
void warn_about_thinning(const Run& run, std::vector<Warning>& warnings) {
    std::int64_t one_in = 1;
    for (const Process& process : run.processes) {
        for (const auto& [key, value] : process.environment) {
            std::int64_t number = 0;
            if (key == "thinning.keeps_one_in" &&
                std::from_chars(value.data(), value.data() + value.size(), number).ec ==
                    std::errc()) {
                one_in = std::max(one_in, number);
            }
        }
    }
    if (one_in > 1) {
        warnings.push_back(
            {"thinned",
             fmt::format("the run passed METATRAIN_TIMING_MAX_SIZE: about 1 in {} of "
                         "its batches is on record one by one, and what is said of "
                         "single ones (medians, percentiles, steady steps, some causes "
                         "of waits) is of these; counts and totals are of all",
                         one_in)});
    }
}

void warn_about_processes(const Run& run, std::vector<Warning>& warnings) {
    std::int64_t dropped = 0;
    std::int64_t unsummed = 0;
    std::int64_t processes = 0;
    std::int64_t alive = 0;
    std::map<std::pair<std::string, std::string>, int> problems;
    for (const Process& process : run.processes) {
        if (process.dropped_count > 0 &&
            !__builtin_add_overflow(dropped, process.dropped_count, &dropped)) {
            ++processes;
            unsummed += std::clamp<std::int64_t>(process.unsummed_count, 0,
                                                 process.dropped_count);
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
             counted(dropped, "record") + " dropped since a buffer was full, in " +
                 counted(processes, "process") +
                 ": they are not there one by one, but their sums are exact" +
                 (unsummed == 0 ? ""
                                : ", except for " + counted(unsummed, "record") +
                                      " of which nothing is known")});
    }
    for (const auto& [problem, count] : problems) {
        const auto& [code, text] = problem;
        warnings.push_back(
            {code, count == 1 ? text : fmt::format("{} ({} times)", text, count)});
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
    const IntervalProblems problems = IntervalLoader(opened, assembled).load();

    Run& loaded = assembled.run;
    std::int64_t small_rows = 0;
    for (const FileIds& ids : assembled.files) {
        small_rows += ids.skipped_rows;
    }
    loaded.warnings = std::move(opened.warnings);
    warn_about_rows(problems, small_rows, loaded.warnings);
    warn_about_missing_files(loaded, loaded.warnings);
    warn_about_processes(loaded, loaded.warnings);
    warn_about_thinning(loaded, loaded.warnings);
    loaded.files = std::move(opened.statuses);
    return std::move(assembled.run);
}

}  // namespace metatrain_timing::analyzer
