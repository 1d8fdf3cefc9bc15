#include "analyzer/load/run_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "analyzer/load/counted.hpp"
#include "analyzer/load/missing_workers.hpp"

namespace metatrain_timing::analyzer {
namespace {

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

void warn_of_run(const AssembledRun& assembled, const IntervalProblems& problems,
                 std::vector<Warning>& warnings) {
    std::int64_t small_rows = 0;
    for (const FileIds& ids : assembled.files) {
        small_rows += ids.skipped_rows;
    }
    warn_about_rows(problems, small_rows, warnings);
    warn_about_missing_files(assembled.run, warnings);
    warn_about_processes(assembled.run, warnings);
    warn_about_thinning(assembled.run, warnings);
}

}  // namespace metatrain_timing::analyzer
