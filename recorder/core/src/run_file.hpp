#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/definitions.hpp"
#include "recorder/core/src/harvest.hpp"
#include "recorder/core/src/interval_insert.hpp"
#include "recorder/core/src/names.hpp"
#include "recorder/core/src/process_row.hpp"
#include "recorder/core/src/row_ids.hpp"
#include "recorder/core/src/thinner.hpp"

namespace metatrain_timing::detail {

/// An existing file is not ours to write; it was left as it is. The text says why, as
/// the end of a sentence that begins with the path.
struct FileRefused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// How a file is opened; see docs/design.md, "A run on disk".
struct FileAccess {
    bool locks =
        true;  // false: the filesystem has none, and the file is ours by its name
    bool shared_memory =
        true;             // a filesystem of this host: WAL, readers see a live run
    bool durable = true;  // safe against a power failure; workers do without
};

/// The database of one process life, opened for writing.
///
/// Used by one thread at a time. Everything throws SQLite::Exception. What is written
/// between `begin()` and `commit()` is there as a whole or, after `roll_back()`, not at
/// all. A forked child must neither use nor destroy its parent's.
class RunFile {
  public:
    /// Opens or makes the file; brings an empty one to today's schema. Throws
    /// FileRefused for what must not be written.
    RunFile(const std::filesystem::path& path, const FileAccess& access,
            ProcessRow process, const Names& stages, const Names& counters);
    ~RunFile();
    RunFile(const RunFile&) = delete;
    RunFile& operator=(const RunFile&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }
    std::int64_t written_count() const noexcept { return written_count_; }
    /// Whether the path still names the file that was opened, and its WAL those of
    /// then. Where somebody removed one, SQLite would go on writing to a file that
    /// nobody can find any more; and where one was cut, by a program that took the file
    /// for free as this process had opened and closed it elsewhere (a copy of the
    /// folder, say) and so lost its locks, SQLite's mapping of it would end the
    /// process.
    bool is_in_place() const;

    /// Begins a transaction; the first one that is committed writes the process's rows.
    void begin();
    void commit();
    void roll_back() noexcept;

    void write(const PendingDefinitions& definitions);
    void write(const ClockSnapshot& snapshot);
    /// What the process has used of the CPUs so far, and those of its threads that
    /// have a harvest and are still there.
    void write_usage(std::int64_t at_ns, const std::vector<Harvest>& harvests);
    /// Records of one thread, in the order they were made, and the sums of those that
    /// its ring did not take; what the file has already is left out.
    void write(const Harvest& harvest);
    /// The intervals that are open on the thread now.
    void write_open(const Harvest& harvest);
    /// How many at least: the file may know of more.
    void write_dropped(const DropCounts& counts);
    void write_ended(std::int64_t ended_ns);

    /// From the next transaction on fewer batches and steps are written one by one; see
    /// ThinningRule.
    void thin_more();
    /// In a transaction, after the harvests of all threads: thins also what is in the
    /// file of this run, beginning with the next `thin_written()`.
    void begin_thinning_written(const std::vector<Harvest>& harvests);
    /// In a transaction.
    void thin_written(std::size_t row_count);
    bool is_thinning_written() const noexcept;
    /// In a transaction: leaves the rest as it is.
    void end_thinning_written();
    std::uint32_t keeps_one_in() const noexcept;
    /// Bytes of the file that hold something, and all bytes.
    struct Size {
        std::int64_t used = 0;
        std::int64_t whole = 0;
    };
    Size size();
    /// Moves what is in its WAL into the file, as far as readers allow.
    void checkpoint();

    /// For a process that is dead: whether its end is in the file, in which case
    /// nothing is missing there. To be called after `begin()`.
    bool has_ended();
    void write_killed();

    /// Where the file goes by another name by now, folds its WAL into it: that one
    /// would not be found beside the new name.
    void save_if_renamed() noexcept;

    /// Folds journals into the file, so that it can be copied alone. Where a reader is
    /// in the way, the last one to close does it.
    void make_self_contained() noexcept;

  private:
    SQLite::Statement prepare(std::string_view sql) const;
    void bring_to_schema();
    void insert_process();
    void write_loader(const LoaderState& loader);
    void write_iterator(const IteratorState& iterator);
    bool find_process();
    void find_rows_of_process();
    std::int64_t track_id(const Harvest& harvest);
    std::int64_t stage_id(std::uint16_t number);
    std::int64_t counter_id(std::uint16_t number);
    std::int64_t iterator_id(std::uint32_t number);
    void write_counter(std::int64_t track, const Record& record);
    void write_sums(std::int64_t track, const DroppedSums& sums);
    WalkedInterval walked(std::int64_t track, const Record& record);
    WalkedInterval walked(std::int64_t track, const OpenFrame& frame);
    std::vector<bool> kept_records(const Harvest& harvest, std::int64_t track,
                                   std::uint64_t from);

    std::filesystem::path path_;
    ProcessRow process_;
    const Names& stages_;
    const Names& counters_;
    SQLite::Database database_;
    struct Identity {
        dev_t device = 0;
        ino_t inode = 0;  // 0: there is none
        off_t size = 0;

        /// Whether `now` is the same file; where there was none, anything is.
        bool is_kept_by(const Identity& now) const noexcept {
            return inode == 0 || (now.device == device && now.inode == inode);
        }
    };
    static Identity identity(const std::string& path) noexcept;
    Identity file_;
    Identity wal_;
    Identity shared_memory_;

    std::int64_t process_id_ = 0;
    bool process_is_fresh_ = false;  // its row is part of the open transaction
    DropCounts written_drops_;
    std::int64_t written_count_ = 0;
    std::int64_t uncommitted_count_ = 0;
    RowIds tracks_;
    RowIds track_versions_;
    // Of each thread's ring: up to where records are in the file; in the transaction.
    std::unordered_map<std::uint64_t, std::uint64_t> ring_positions_;
    std::unordered_map<std::uint64_t, std::uint64_t> uncommitted_positions_;
    RowIds stage_ids_;
    RowIds counter_ids_;
    RowIds loaders_;
    RowIds iterators_;

    // After database_: destroyed before it.
    struct Statements;
    std::unique_ptr<Statements> statements_;
    std::unique_ptr<Thinner> thinner_;  // short runs never need it
};

}  // namespace metatrain_timing::detail
