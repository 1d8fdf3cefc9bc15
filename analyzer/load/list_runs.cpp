#include "analyzer/load/list_runs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/load/open_files.hpp"
#include "analyzer/load/select.hpp"
#include "analyzer/load/source.hpp"
#include "analyzer/model/ended.hpp"

namespace metatrain_timing::analyzer {
namespace {

using Turns = std::vector<std::pair<std::int64_t, std::int64_t>>;  // (pass, batch)

Turns sorted_unique(Turns turns) {
    std::sort(turns.begin(), turns.end());
    turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
    return turns;
}

// The turns of a training process in whose interval of this stage a batch of a training
// pass was used.
Turns training_turns(const Database& db, std::int64_t process_id,
                     std::string_view stage) {
    Statement row = db.prepare(
        "SELECT iterator_id, batch FROM main.interval NOT INDEXED"
        " WHERE stage_id IN (SELECT id FROM main.stage NOT INDEXED WHERE name = ?2)"
        " AND track_id IN (SELECT id FROM main.track NOT INDEXED WHERE process_id = ?1)"
        " AND iterator_id IN"
        " (SELECT id FROM main.iterator NOT INDEXED WHERE phase = 'train')");
    row.bind(1, process_id);
    row.bind(2, stage);
    Turns turns;
    while (row.step()) {
        turns.emplace_back(row.integer(0), row.integer(1));
    }
    return sorted_unique(std::move(turns));
}

// A step is a finished body of a training loop in which an optimizer stepped; where no
// optimizer was seen at all (a program without torch), every finished body.
std::int64_t count_steps(const Database& db, std::int64_t process_id) {
    const Turns bodies = training_turns(db, process_id, "step");
    const Turns optimized = training_turns(db, process_id, "optimizer");
    if (optimized.empty()) {
        return static_cast<std::int64_t>(bodies.size());
    }
    Turns both;
    std::set_intersection(bodies.begin(), bodies.end(), optimized.begin(),
                          optimized.end(), std::back_inserter(both));
    return static_cast<std::int64_t>(both.size());
}

// What the training processes of one run tell about it.
struct Mains {
    Run processes;  // only role, ending and whether alive
    std::set<std::string> seen;
    std::set<std::int64_t> ranks;
    std::int64_t lowest_rank = std::numeric_limits<std::int64_t>::max();
    std::int64_t step_count = 0;
};

void add_file(RunFile& file, std::map<std::string, Mains>& mains_of) {
    const FileTables tables = read_tables(file.database());
    const ProcessRow* newest = nullptr;
    for (const ProcessRow& row : tables.processes) {
        newest = row.process.ended_ns ? newest : &row;
    }
    for (const ProcessRow& row : tables.processes) {
        const auto run = std::find_if(
            tables.runs.begin(), tables.runs.end(),
            [&](const RunRow& candidate) { return candidate.id == row.run_id; });
        if (row.process.role != Role::main || run == tables.runs.end()) {
            continue;
        }
        Mains& mains = mains_of[run->uuid];
        if (!mains.seen.insert(row.process.uuid).second) {
            continue;  // a merged file beside its parts
        }
        mains.ranks.insert(row.process.rank);
        Process& process = mains.processes.processes.emplace_back();
        process.role = Role::main;
        process.ending = row.process.ending;
        process.alive = file.live() && &row == newest;
        if (row.process.rank <= mains.lowest_rank) {
            const std::int64_t steps = count_steps(file.database(), row.id);
            mains.step_count =
                row.process.rank < mains.lowest_rank ? steps : mains.step_count + steps;
            mains.lowest_rank = row.process.rank;
        }
    }
}

}  // namespace

RunList list_runs(const std::string& path) {
    OpenFiles opened = open_files(resolve(path));
    const std::vector<RunRow> runs = distinct_runs(opened.runs);
    std::map<std::string, Mains> mains_of;
    for (RunFile& file : opened.files) {
        try {
            add_file(file, mains_of);
        } catch (const Error& error) {
            opened.warnings.push_back(
                {"file_damaged", file.path() + ": damaged (" + error.what() + ")"});
        }
    }
    RunList list;
    for (const RunRow& run : runs) {
        const Mains& mains = mains_of[run.uuid];
        RunSummary& summary = list.runs.emplace_back();
        summary.index = list.runs.size();
        summary.uuid = run.uuid;
        summary.attempt = run.attempt.value_or(1);
        summary.started_unix_ns = run.started_unix_ns;
        summary.command = run.command;
        summary.host = run.host;
        summary.rank_count = static_cast<std::int64_t>(mains.ranks.size());
        summary.step_count = mains.step_count;
        summary.ended = ended(mains.processes);
        summary.newest = summary.index == runs.size();
    }
    list.files = std::move(opened.statuses);
    list.warnings = std::move(opened.warnings);
    return list;
}

}  // namespace metatrain_timing::analyzer
