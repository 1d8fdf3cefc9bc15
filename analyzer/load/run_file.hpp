#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/load/database.hpp"
#include "analyzer/load/scratch.hpp"

namespace metatrain_timing::analyzer {

/// A run file that was checked and is open for reading.
///
/// A file that is being recorded is read where it is, in one read transaction from
/// open() to the end, so that everything read belongs together. A file whose owner died
/// in a transaction is copied with its journal to a scratch folder and rolled back
/// there.
class RunFile {
  public:
    /// Opens and checks the file; it has the tables of schema 1 with the columns that
    /// this version reads, all real tables. Throws Error with the reason alone
    /// ("empty", "schema 9.0.0 is newer ...") where it is no run file.
    static RunFile open(const std::string& path);

    const std::string& path() const { return path_; }
    bool live() const { return live_; }

    /// Whether what is read is a copy, rolled back.
    bool copied() const { return copied_; }
    /// Bytes of the file, 0 where that cannot be told.
    std::uint64_t size() const;

    /// `PRAGMA user_version`: the version of the schema.
    std::int64_t user_version() const { return user_version_; }

    /// The connection, opened again if it was released.
    const Database& database();

    /// Gives the file descriptor back, unless the file may change meanwhile.
    void release();

    /// What `use` makes of the database; a file that was let go is let go again.
    template <typename Use>
    auto with_database(Use use) {
        const Borrowed borrowed(*this);
        return use(database());
    }

  private:
    RunFile() = default;
    void connect();

    class Borrowed {
      public:
        explicit Borrowed(RunFile& file)
            : file_(file), was_open_(file.database_.has_value()) {}
        ~Borrowed() {
            if (!was_open_) {
                file_.release();
            }
        }
        Borrowed(const Borrowed&) = delete;
        Borrowed& operator=(const Borrowed&) = delete;

      private:
        RunFile& file_;
        const bool was_open_;
    };

    std::string path_;  // as the user knows it
    bool live_ = false;
    bool copied_ = false;
    std::int64_t user_version_ = 0;
    std::optional<Database> database_;
};

/// Throws Error where the journal beside the file names other files: SQLite would open,
/// and delete, what it names. Recorders write no such journal.
void refuse_foreign_journal(const std::string& path);

/// Whether a name is that of a file SQLite or the recorder keeps beside a run file.
bool is_companion(const std::string& file_name);

/// Whether the file begins as a SQLite database of metatrain-timing does. Not for files
/// that may be open in this process.
bool has_our_header(const std::string& path);

}  // namespace metatrain_timing::analyzer
