#include "analyzer/load/digest_store.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "analyzer/load/digest_json.hpp"
#include "analyzer/load/environment.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::int64_t kApplicationId = 0x6d746368;  // "mtch"

// Losing the last of it to a crash of the machine costs a second reading, no more.
constexpr const char* kSetUp =
    "PRAGMA synchronous = OFF;"
    "PRAGMA application_id = 1836344168;"
    "CREATE TABLE IF NOT EXISTS digest (path TEXT NOT NULL, phase TEXT NOT NULL,"
    " position INTEGER NOT NULL, stamp TEXT NOT NULL, content TEXT NOT NULL,"
    " PRIMARY KEY (path, phase, position)) STRICT, WITHOUT ROWID;";

std::string absolute(const std::string& path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return error ? path : whole.lexically_normal().string();
}

}  // namespace

std::string digest_store_path() {
    return user_file("METATRAIN_TIMING_CACHE", "XDG_CACHE_HOME", ".cache",
                     "history.db");
}

DigestStore::DigestStore(const std::string& path) : is_wanted_(!path.empty()) {
    if (!is_wanted_) {
        return;
    }
    try {
        std::error_code error;
        const auto folder = std::filesystem::path(path).parent_path();
        if (!folder.empty()) {
            std::filesystem::create_directories(folder, error);
        }
        auto database = std::make_unique<Database>(Database::create(path));
        // In this order: another command may be making it; its first page has the id.
        const bool is_new = database->integer("PRAGMA page_count") == 0;
        const std::int64_t owner = database->integer("PRAGMA application_id");
        if (owner == kApplicationId || is_new) {
            database->execute(kSetUp);
            database_ = std::move(database);
        }
    } catch (const Error&) {  // read-only, full, no database: do without
    }
}

bool DigestStore::works() {
    const std::lock_guard lock(mutex_);
    return !is_wanted_ || database_ != nullptr;
}

StoredDigests DigestStore::find(const std::string& path, const std::string& phase) {
    const std::lock_guard lock(mutex_);
    StoredDigests stored;
    if (!database_) {
        return stored;
    }
    try {
        Statement row = database_->prepare(
            "SELECT stamp, content FROM digest WHERE path = ?1 AND phase = ?2"
            " ORDER BY position");
        row.bind(1, absolute(path));
        row.bind(2, phase);
        while (row.step()) {
            auto digest = parse_digest(row.text(1));
            if (!digest) {
                return {};
            }
            stored.stamp = row.text(0);
            stored.digests.push_back(std::move(*digest));
        }
    } catch (const Error&) {
        return {};
    }
    return stored;
}

void DigestStore::keep(const std::string& path, const std::string& phase,
                       const StoredDigests& stored) {
    const std::lock_guard lock(mutex_);
    if (!database_) {
        return;
    }
    try {
        database_->execute("BEGIN IMMEDIATE");
        Statement old =
            database_->prepare("DELETE FROM digest WHERE path = ?1 AND phase = ?2");
        old.bind(1, absolute(path));
        old.bind(2, phase);
        old.run();
        Statement insert = database_->prepare(
            "INSERT INTO digest (path, phase, position, stamp, content)"
            " VALUES (?1, ?2, ?3, ?4, ?5)");
        for (std::size_t i = 0; i < stored.digests.size(); ++i) {
            insert.bind(1, absolute(path));
            insert.bind(2, phase);
            insert.bind(3, static_cast<std::int64_t>(i));
            insert.bind(4, stored.stamp);
            insert.bind(5, digest_text(stored.digests[i]));
            insert.run();
        }
        database_->execute("COMMIT");
    } catch (const Error&) {
        database_.reset();  // also ends the transaction
    }
}

}  // namespace metatrain_timing::analyzer
