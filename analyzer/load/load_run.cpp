#include <atomic>
#include <exception>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/gather.hpp"
#include "analyzer/load/intervals.hpp"
#include "analyzer/load/open_files.hpp"
#include "analyzer/load/run_warnings.hpp"
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
    loaded.warnings = std::move(opened.warnings);
    warn_of_run(assembled, problems, loaded.warnings);
    loaded.files = std::move(opened.statuses);
    return std::move(assembled.run);
}

}  // namespace metatrain_timing::analyzer
