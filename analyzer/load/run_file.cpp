#include "analyzer/load/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <metatrain_timing/schema/sql.hpp>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "analyzer/load/file_lock.hpp"

namespace metatrain_timing::analyzer {
namespace {

namespace fs = std::filesystem;

// Held while files are opened and let go: who asks which files this process has open
// looks at all of its descriptors.
std::mutex descriptors_mutex;

// The first 100 bytes of a database; see "The Database Header" in SQLite's file format.
class Header {
  public:
    explicit Header(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
        size_ = static_cast<std::size_t>(file.gcount());
    }

    bool is_sqlite() const {
        constexpr std::string_view kMagic("SQLite format 3\0", 16);
        return size_ == bytes_.size() &&
               std::string_view(bytes_.data(), kMagic.size()) == kMagic;
    }

    bool is_wal() const { return bytes_[18] == 2 || bytes_[19] == 2; }

    int application_id() const {
        unsigned id = 0;
        for (std::size_t i = 68; i < 72; ++i) {
            id = (id << 8U) | static_cast<unsigned char>(bytes_[i]);
        }
        return static_cast<int>(id);
    }

  private:
    std::array<char, 100> bytes_{};
    std::size_t size_ = 0;
};

std::string version_text(std::int64_t user_version) {
    return fmt::format("{}.{}.{}", user_version / 10000, user_version / 100 % 100,
                       user_version % 100);
}

std::int64_t checked_version(const Database& db) {
    const std::int64_t application = db.integer("PRAGMA application_id");
    if (application != schema::kApplicationId) {
        throw Error("no run of metatrain-timing");
    }
    const std::int64_t version = db.integer("PRAGMA user_version");
    const std::int64_t major = version / 10000;
    constexpr std::int64_t kMajor = schema::kUserVersion / 10000;
    if (major > kMajor || version < 0) {
        throw Error(fmt::format(
            "schema {} is newer than this version reads ({}); update mt-analyze",
            version_text(version), schema::kVersion));
    }
    if (major < kMajor) {
        throw Error(fmt::format("schema {} is older than this version reads ({})",
                                version_text(version), schema::kVersion));
    }
    return version;
}

struct Expected {
    std::string_view table;
    std::string_view columns;  // separated by spaces
};

// What the reading statements use. A table of these names with other or with computed
// columns, a view or a virtual table is none that a recorder wrote.
constexpr std::array<Expected, 16> kExpected{{
    {"run", "id uuid job attempt started_unix_ns command cwd host"},
    {"process",
     "id run_id uuid parent_uuid role rank world_size worker_id loader_id pid"
     " start_method host boot_id started_ns ended_ns ending dropped_count "
     "unsummed_count"},
    {"clock", "id process_id monotonic_ns unix_ns"},
    {"cpu_usage", "id process_id track_id at_ns cpu_ns queued_ns"},
    {"environment", "process_id key value"},
    {"health", "id process_id at_ns code text"},
    {"loader",
     "id process_id number name created_at dataset_class num_workers batch_size"
     " prefetch_factor persistent_workers pin_memory in_order start_method"
     " sampler_class"},
    {"iterator",
     "id loader_id number epoch phase started_ns first_wait_ns ended_ns exhausted"},
    {"stage", "id name"},
    {"track", "id process_id tid name kind"},
    {"interval",
     "id track_id stage_id start_ns dur_ns depth step iterator_id batch cpu_ns"},
    {"open_interval", "id track_id stage_id start_ns depth step iterator_id batch"},
    {"interval_total",
     "id track_id parent_id stage_id iterator_id calls total_ns cpu_ns cpu_wall_ns "
     "first_ns last_ns node"},
    {"counter_name", "id name"},
    {"counter", "id track_id name_id at_ns value step iterator_id batch"},
    {"counter_total", "id track_id name_id iterator_id calls value node"},
}};

std::set<std::string> split(std::string_view words) {
    std::istringstream stream{std::string(words)};
    return {std::istream_iterator<std::string>(stream), {}};
}

void check_table(const Database& db, const Expected& expected) {
    Statement table = db.prepare(
        "SELECT count(*) FROM sqlite_schema"
        " WHERE name = ?1 AND type = 'table' AND rootpage > 0");
    table.bind(1, expected.table);
    if (!table.step() || table.integer(0) != 1) {
        throw Error(
            fmt::format("damaged or foreign: it has no table '{}'", expected.table));
    }
    // hidden: 0 for a plain column, 2 and 3 for one that is computed when read
    Statement column =
        db.prepare("SELECT name, hidden FROM pragma_table_xinfo(?1, 'main')");
    column.bind(1, expected.table);
    std::set<std::string> lacking = split(expected.columns);
    while (column.step()) {
        if (column.integer(1) != 0) {
            throw Error(fmt::format(
                "damaged or foreign: table '{}' has computed columns", expected.table));
        }
        lacking.erase(column.text(0));
    }
    if (!lacking.empty()) {
        throw Error(fmt::format("damaged or foreign: table '{}' has no column '{}'",
                                expected.table, *lacking.begin()));
    }
}

bool has_bytes(const std::string& path) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    return !error && size > 0;
}

// What lies beside a run file, by the end of its name.
constexpr std::array<std::string_view, 4> kCompanions{"-journal", "-wal", "-shm",
                                                      ".lock"};

// A pipe in the place of a journal would be waited for, a device read without an end.
void refuse_odd_companions(const std::string& path) {
    for (const std::string_view suffix : kCompanions) {
        std::error_code error;
        const fs::file_status status = fs::status(path + std::string(suffix), error);
        if (fs::exists(status) && !fs::is_regular_file(status)) {
            throw Error(path + std::string(suffix) + " beside it is not a file");
        }
    }
}

void copy_to(const std::string& from, const fs::path& to) {
    std::error_code error;
    fs::copy_file(from, to, error);
    if (error) {
        throw Error("cannot be copied to be rolled back (" + error.message() +
                    "); set TMPDIR to a folder with room");
    }
}

// Rolls back what a dead owner left half done, in a copy. On Linux the copy has no name
// any more when this returns, so nothing is left behind however this process ends.
Database open_copy(const std::string& path) {
    const ScratchFolder scratch;
    const std::string copy = (scratch.path() / "run.db").string();
    copy_to(path, copy);
    for (const char* suffix : {"-journal", "-wal"}) {
        if (has_bytes(path + suffix)) {
            copy_to(path + suffix, copy + suffix);
        }
    }
    refuse_foreign_journal(copy);
    fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write);
    Database db = Database::open_writable(copy);
    harden(db);
    db.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE;");
    db.integer("SELECT count(*) FROM sqlite_schema");
    return db;
}

}  // namespace

// Such a journal ends with the name of a "super-journal" and this magic.
void refuse_foreign_journal(const std::string& path) {
    constexpr std::array<unsigned char, 8> kMagic{0xD9, 0xD5, 0x05, 0xF9,
                                                  0x20, 0xA1, 0x63, 0xD7};
    std::ifstream file(path + "-journal", std::ios::binary);
    std::array<char, 8> last{};
    file.seekg(-8, std::ios::end);
    file.read(last.data(), last.size());
    if (file && std::memcmp(last.data(), kMagic.data(), kMagic.size()) == 0) {
        throw Error("its journal belongs to a transaction over other files too");
    }
}

bool is_companion(const std::string& file_name) {
    return std::any_of(
        kCompanions.begin(), kCompanions.end(), [&](std::string_view suffix) {
            return file_name.size() > suffix.size() && file_name.ends_with(suffix);
        });
}

bool has_our_header(const std::string& path) {
    const Header header(path);
    return header.is_sqlite() && header.application_id() == schema::kApplicationId;
}

void RunFile::connect() {
    const std::lock_guard lock(descriptors_mutex);
    std::error_code error;
    const fs::file_status status = fs::status(path_, error);
    if (error || !fs::exists(status)) {
        throw Error(error && status.type() != fs::file_type::not_found
                        ? "cannot be opened (" + error.message() + ")"
                        : "no such file");
    }
    if (!fs::is_regular_file(status)) {
        throw Error("not a file");
    }
    // Journal and lock lie beside the file itself, not beside a link to it.
    const std::string real = fs::canonical(path_, error).string();
    if (error) {
        throw Error("cannot be opened (" + error.message() + ")");
    }
    refuse_odd_companions(real);
    live_ = is_being_recorded(real);
    if (!has_bytes(real)) {
        throw Error(live_ ? "empty so far" : "empty");
    }
    if (!opened_by_this_process(real)) {
        if (!std::ifstream(real)) {
            throw Error("cannot be opened (" + std::generic_category().message(errno) +
                        ")");
        }
        const Header header(real);
        if (!header.is_sqlite()) {
            throw Error("not a database");
        }
        // A WAL database cannot be read without making files beside it.
        copied_ = !live_ && (header.is_wal() || has_bytes(real + "-journal") ||
                             has_bytes(real + "-wal"));
    }
    if (copied_) {
        database_ = open_copy(real);
    } else {
        database_ = Database::open_read_only(real);
        harden(*database_);
    }
}

RunFile RunFile::open(const std::string& path) {
    RunFile file;
    file.path_ = path;
    try {
        file.connect();
        file.user_version_ = checked_version(*file.database_);
        file.database_->execute("BEGIN");
        for (const Expected& expected : kExpected) {
            check_table(*file.database_, expected);
        }
        allow_reading_only(*file.database_);
    } catch (const DatabaseError& error) {
        switch (error.sqlite_code()) {
            case SQLITE_NOTADB:
                throw Error("not a database");
            case SQLITE_CORRUPT:
                throw Error(std::string("damaged (") + error.what() + ")");
            default:
                throw Error(std::string("cannot be read (") + error.what() + ")");
        }
    }
    return file;
}

std::uint64_t RunFile::size() const {
    std::error_code error;
    const auto size = fs::file_size(path_, error);
    return error ? 0 : size;
}

const Database& RunFile::database() {
    if (!database_) {
        *this = open(path_);
    }
    return *database_;
}

void RunFile::release() {
    if (!live_ && !copied_) {
        const std::lock_guard lock(descriptors_mutex);
        database_.reset();
    }
}

}  // namespace metatrain_timing::analyzer
