#include "analyzer/load/run_stream.hpp"

#include "analyzer/error.hpp"
#include "analyzer/load/gather.hpp"
#include "analyzer/load/row_reader.hpp"
#include "analyzer/load/run_warnings.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"

namespace metatrain_timing::analyzer {

RunStream::RunStream(const std::string& path, const std::string& run) {
    const RunSource source = resolve(path, run);
    opened_ = open_files(source);
    const std::vector<RunRow> runs = distinct_runs(opened_.runs);
    const RunRow& identity = runs[select_run(runs, source.selector, source.name)];
    assembled_ = assemble_run(identity, read_all_tables(opened_), opened_);
    for (std::size_t i = 0; i < opened_.files.size(); ++i) {
        if (!assembled_.files[i].track_targets.empty()) {
            row_count_ += opened_.files[i].with_database(
                [](const Database& db) { return interval_ids(db).size(); });
        }
    }
}

void RunStream::visit(RowVisitor& visitor,
                      const std::function<void(std::size_t, std::size_t)>& on_file) {
    problems_ = {};
    for (std::size_t i = 0; i < opened_.files.size(); ++i) {
        if (on_file) {
            on_file(i, opened_.files.size());
        }
        visit_file(i, visitor);
    }
}

void RunStream::visit_file(std::size_t file, RowVisitor& visitor) {
    const FileIds& ids = assembled_.files[file];
    std::vector<bool> wanted;
    bool any = false;
    for (const TrackTarget& target : ids.track_targets) {
        wanted.push_back(visitor.wants(target.process));
        any = any || wanted.back();
    }
    if (!any) {
        return;
    }
    const auto target_of = [&](std::int32_t target) -> const TrackTarget* {
        const auto at = static_cast<std::size_t>(target);
        return wanted[at] ? &ids.track_targets[at] : nullptr;
    };
    RunFile& source = opened_.files[file];
    try {
        RowReader reader(source.database(), ids, problems_);
        reader.read_intervals(kAllIds, [&](const StagedInterval& row) {
            if (const TrackTarget* const at = target_of(row.target)) {
                visitor.interval(*at, row.interval, row.cpu_ns);
            }
        });
        reader.read_open([&](std::int32_t target, const Interval& interval) {
            if (const TrackTarget* const at = target_of(target)) {
                visitor.open(*at, interval);
            }
        });
        reader.read_counters([&](std::int32_t target, const Counter& counter) {
            if (const TrackTarget* const at = target_of(target)) {
                visitor.counter(*at, counter);
            }
        });
    } catch (const DatabaseError& error) {
        note_damage(opened_, source.path(), error.what());
    }
    visitor.file_ended();
    source.release();
}

std::vector<Warning> RunStream::warnings() const {
    std::vector<Warning> warnings = opened_.warnings;
    warn_of_run(assembled_, problems_, warnings);
    return warnings;
}

}  // namespace metatrain_timing::analyzer
