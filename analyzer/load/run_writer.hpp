#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/database.hpp"
#include "analyzer/load/id_map.hpp"

namespace metatrain_timing::analyzer {

/// Writes runs that lie in many files into one new database of the same schema: rows
/// get new ids, workers' copies of loaders and passes are folded into the owner's. The
/// views are there too, so that they answer for whole runs.
///
/// Use: make_tables(); add_run() for each run; copy_rows() for each file; add_views().
/// What is written becomes durable when the caller commits. Throws DatabaseError.
class RunWriter {
  public:
    /// `out` is an empty database that outlives the writer.
    RunWriter(const Database& out, std::size_t file_count)
        : out_(out), ids_(file_count) {}

    void make_tables();

    /// Writes the small tables of a run.
    void add_run(const RunRow& identity, const AssembledRun& assembled);

    /// Copies the rows of file `index` that belong to the runs added, and nothing else.
    void copy_rows(const Database& in, std::size_t index);

    void add_views();

    /// Rows that refer to what is not there, or hold no number, which were left out.
    std::int64_t skipped_count() const { return skipped_count_; }

  private:
    // Ids of one file to ids of the new database; IdMap::kUnwanted: of a run that is
    // not written.
    struct Ids {
        IdMap processes;
        IdMap tracks;
        IdMap iterators;
        IdMap stages;
        IdMap counter_names;
    };

    // The last id given in each table of the new database.
    struct Last {
        std::int32_t run = 0;
        std::int32_t process = 0;
        std::int32_t loader = 0;
        std::int32_t iterator = 0;
        std::int32_t track = 0;
    };

    void add_processes(const AssembledRun& assembled);
    void add_loaders(const AssembledRun& assembled);
    void add_iterators(const AssembledRun& assembled);
    void add_tracks(const Run& run);
    void add_names(const std::vector<std::string>& names, const char* sql,
                   std::unordered_map<std::string, std::int32_t>& known);
    void map_ids(const AssembledRun& assembled);

    void copy_intervals(const Database& in, const Ids& ids);
    void copy_open_intervals(const Database& in, const Ids& ids);
    void copy_counters(const Database& in, const Ids& ids);
    void copy_interval_totals(const Database& in, const Ids& ids);
    void copy_counter_totals(const Database& in, const Ids& ids);
    void copy_process_rows(const Database& in, const Ids& ids);
    void copy_cpu_usage(const Database& in, const Ids& ids);

    const Database& out_;
    std::vector<Ids> ids_;
    Last last_;
    std::unordered_map<std::string, std::int32_t> stages_;
    std::unordered_map<std::string, std::int32_t> counter_names_;
    std::int64_t skipped_count_ = 0;
};

}  // namespace metatrain_timing::analyzer
