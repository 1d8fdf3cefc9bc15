#include "analyzer/load/gather.hpp"

#include "analyzer/load/counted.hpp"
#include "analyzer/load/missing_workers.hpp"
#include "analyzer/load/run_writer.hpp"

namespace metatrain_timing::analyzer {
namespace {

std::int64_t count_intervals(const Database& db, std::int64_t process_id) {
    Statement count = db.prepare(
        "SELECT count(*) FROM main.interval NOT INDEXED"
        " WHERE track_id IN (SELECT id FROM main.track NOT INDEXED WHERE process_id = "
        "?1)");
    count.bind(1, process_id);
    return count.step() ? count.integer(0) : 0;
}

}  // namespace

void note_damage(OpenFiles& opened, const std::string& path, const std::string& what) {
    for (FileStatus& status : opened.statuses) {
        if (status.path == path) {
            status.reason = "damaged: " + what + "; what came before was read";
        }
    }
    opened.warnings.push_back({"file_damaged", path + ": damaged (" + what +
                                                   "); only a part of it was read"});
}

std::vector<FileTables> read_all_tables(OpenFiles& opened) {
    std::vector<FileTables> tables;
    for (RunFile& file : opened.files) {
        try {
            tables.push_back(file.with_database(read_tables));
        } catch (const Error& error) {
            tables.emplace_back();
            note_damage(opened, file.path(), error.what());
        }
    }
    return tables;
}

AssembledRun assemble_run(const RunRow& identity, const std::vector<FileTables>& tables,
                          OpenFiles& opened) {
    std::vector<FileTraits> traits;
    for (RunFile& file : opened.files) {
        traits.push_back({file.live(), [&file](std::int64_t process_id) {
                              return file.with_database([&](const Database& db) {
                                  return count_intervals(db, process_id);
                              });
                          }});
    }
    return assemble(identity, tables, traits);
}

std::vector<Warning> missing_files(const std::vector<RunRow>& runs, OpenFiles& opened) {
    const std::vector<FileTables> tables = read_all_tables(opened);
    std::vector<Warning> warnings;
    for (const RunRow& run : runs) {
        warn_about_missing_files(assemble_run(run, tables, opened).run, warnings);
    }
    return warnings;
}

void gather(const std::vector<RunRow>& runs, OpenFiles& opened, const Database& out) {
    RunWriter writer(out, opened.files.size());
    writer.make_tables();
    const std::vector<FileTables> tables = read_all_tables(opened);
    for (const RunRow& run : runs) {
        const AssembledRun assembled = assemble_run(run, tables, opened);
        writer.add_run(run, assembled);
        warn_about_missing_files(assembled.run, opened.warnings);
    }
    for (std::size_t i = 0; i < opened.files.size(); ++i) {
        RunFile& file = opened.files[i];
        const Database* in = nullptr;
        try {
            in = &file.database();
            writer.copy_rows(*in, i);
        } catch (const DatabaseError& error) {
            if (in == nullptr || sqlite3_errcode(in->handle()) == SQLITE_OK) {
                throw;  // writing failed, not reading
            }
            note_damage(opened, file.path(), error.what());
        }
        file.release();
    }
    writer.add_views();
    if (writer.skipped_count() > 0) {
        opened.warnings.push_back(
            {"rows_skipped", counted(writer.skipped_count(), "row") +
                                 " left out: what they refer to is not in their file"});
    }
}

}  // namespace metatrain_timing::analyzer
