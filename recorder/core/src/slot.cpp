#include "recorder/core/src/slot.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "recorder/core/src/adoption.hpp"
#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxSlots = 10'000;

std::string reason_of(int error_number) {
    return std::generic_category().message(error_number);
}

// As SQLite reports trouble that may pass, so that it is waited for in the same way.
void throw_if_it_may_pass(const fs::path& path, int error_number) {
    const std::string text =
        fmt::format("cannot make {}: {}", path.string(), reason_of(error_number));
    switch (error_number) {
        case ENOSPC:
        case EDQUOT:
            throw SQLite::Exception(text, SQLITE_FULL);
        case ENOMEM:
            throw SQLite::Exception(text, SQLITE_NOMEM);
        case EMFILE:
        case ENFILE:
        case EINTR:
        case EIO:
        case ESTALE:
            throw SQLite::Exception(text, SQLITE_IOERR);
        default:
            return;
    }
}

std::string off_because(const fs::path& database, const std::string& reason) {
    return fmt::format("cannot write {}: {}; recording is off", database.string(),
                       reason);
}

fs::path folder_of_others(const fs::path& database) {
    fs::path folder = database;
    folder += ".d";
    return folder;
}

// A missing folder is made, but not what it is to lie in: that would hide a typing
// error.
void make_folder(const fs::path& folder, const fs::path& database) {
    std::error_code error;
    fs::create_directory(folder, error);  // no error where it is there
    if (error) {
        throw_if_it_may_pass(folder, error.value());
        throw NoFile(off_because(database, reason_of(error.value())));
    }
}

// "rank1", "rank0-w03"; the training process of rank 0 is "main".
std::string slot_name(const ProcessRow& process, int index) {
    const std::int64_t rank = process.run.rank.rank;
    switch (process.info.role) {
        case ProcessInfo::Role::main:
            return rank == 0 ? "main" : fmt::format("rank{}", rank);
        case ProcessInfo::Role::worker:
            return fmt::format("rank{}-w{:02}", rank, index);
        case ProcessInfo::Role::child:
            break;
    }
    return fmt::format("rank{}-c{:02}", rank, index);
}

std::string lock_text(const ProcessRow& process) {
    return fmt::format("pid {}\nhost {}\nprocess {}\nidentity {}\n", process.pid,
                       process.host, process.process_uuid,
                       platform::process_identity(process.pid));
}

bool may_pass(int code) {
    return code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_FULL ||
           code == SQLITE_IOERR || code == SQLITE_NOMEM;
}

fs::path lock_path_of(fs::path path) {
    path += ".lock";
    return path;
}

FileAccess access_to(const fs::path& path, bool locks, const ProcessRow& process) {
    FileAccess access;
    access.locks = locks;
    access.shared_memory = platform::is_local_filesystem(path.parent_path());
    access.durable = process.info.role == ProcessInfo::Role::main;
    return access;
}

// While the lock is held and the file is not open: what dead owners of it left behind.
void adopt_what_belongs_to(const fs::path& path, const fs::path& database) {
    constexpr std::chrono::seconds kPatience{1};
    AdoptionOptions options;
    options.held = path;
    adopt_dead_rings(database, std::chrono::steady_clock::now() + kPatience, options);
}

class Opener {
  public:
    Opener(const fs::path& database, const ProcessRow& process, const Names& stages,
           const Names& counters)
        : database_(database),
          folder_(folder_of_others(database)),
          process_(process),
          stages_(stages),
          counters_(counters) {}

    OwnedFile open(const std::string& lost) {
        if (!lost.empty()) {
            note(lost, true);
            return open_new_file();
        }
        if (database_.has_parent_path()) {
            make_folder(database_.parent_path(), database_);
        }
        const bool is_main = process_.info.role == ProcessInfo::Role::main;
        const bool is_first = is_main && process_.run.rank.rank == 0;
        const int slot_count = is_main ? 1 : kMaxSlots;
        if (!is_first) {
            make_folder(folder_, database_);
        }
        for (int index = 0; index < slot_count; ++index) {
            const fs::path path =
                is_first ? database_ : folder_ / (slot_name(process_, index) + ".db");
            if (auto file = try_path(path)) {
                return std::move(*file);
            }
            if (stop_) {
                break;
            }
        }
        return open_new_file();
    }

  private:
    // Who finds the folder empty removes it, at any time.
    LockFile::Attempt acquire(const fs::path& path) const {
        constexpr int kMostTries = 3;
        auto attempt = LockFile::acquire(lock_path_of(path), lock_text(process_));
        for (int again = 0;
             again < kMostTries && path.parent_path() == folder_ &&
             attempt.first == LockFile::Outcome::unwritable && errno == ENOENT;
             ++again) {
            make_folder(folder_, database_);
            attempt = LockFile::acquire(lock_path_of(path), lock_text(process_));
        }
        return attempt;
    }

    // Nothing if the file is taken or refused; `detour_` says which.
    std::optional<OwnedFile> try_path(const fs::path& path) {
        auto [outcome, lock] = acquire(path);
        const int error_number = errno;
        switch (outcome) {
            case LockFile::Outcome::locked:
                break;
            case LockFile::Outcome::taken:
            case LockFile::Outcome::replaced:
                note(fmt::format("{} is being written by another process",
                                 path.string()),
                     false);
                return std::nullopt;
            case LockFile::Outcome::unsupported:
                locks_work_ = false;
                stop_ = true;
                note(fmt::format("{} is on a filesystem without locks", path.string()),
                     false);
                return std::nullopt;
            case LockFile::Outcome::unwritable:
                throw_if_it_may_pass(lock_path_of(path), error_number);
                stop_ = true;
                note(fmt::format("cannot write {}: {}", path.string(),
                                 reason_of(error_number)),
                     true);
                return std::nullopt;
        }
        adopt_what_belongs_to(path, database_);
        try {
            auto file = open_file(path, true);
            return OwnedFile{std::move(file), std::move(lock), {}, false};
        } catch (const FileRefused& refused) {
            note(fmt::format("{} {}", path.string(), refused.what()), true);
        } catch (const SQLite::Exception& error) {
            if (may_pass(error.getErrorCode())) {
                lock->remove();
                throw;
            }
            note(fmt::format("cannot write {}: {}", path.string(), error.what()), true);
        }
        lock->remove();
        return std::nullopt;
    }

    // A file nobody else can have: its name holds the uuid of this life.
    OwnedFile open_new_file() {
        make_folder(folder_, database_);
        const fs::path path = folder_ / fmt::format("{}-{}.db", slot_name(process_, 0),
                                                    process_.process_uuid.substr(0, 8));
        auto [outcome, lock] = acquire(path);
        if (outcome == LockFile::Outcome::unwritable) {
            const int error_number = errno;
            throw_if_it_may_pass(lock_path_of(path), error_number);
            throw NoFile(off_because(database_, reason_of(error_number)));
        }
        try {
            auto file = open_file(path, locks_work_);
            return {std::move(file), std::move(lock),
                    fmt::format("{}; recording to {}", detour_, path.string()),
                    trouble_};
        } catch (const FileRefused& refused) {
            throw NoFile(off_because(database_, refused.what()));
        } catch (const SQLite::Exception& error) {
            if (may_pass(error.getErrorCode())) {
                throw;
            }
            throw NoFile(off_because(database_, error.what()));
        }
    }

    std::unique_ptr<RunFile> open_file(const fs::path& path, bool locks) const {
        return std::make_unique<RunFile>(path, access_to(path, locks, process_),
                                         process_, stages_, counters_);
    }

    void note(std::string detour, bool trouble) {
        detour_ = std::move(detour);
        trouble_ = trouble_ || trouble;
    }

    const fs::path& database_;
    const fs::path folder_;
    const ProcessRow& process_;
    const Names& stages_;
    const Names& counters_;
    bool locks_work_ = true;
    bool stop_ = false;  // other slots would fare no better
    std::string detour_;
    bool trouble_ = false;
};

}  // namespace

OwnedFile open_own_file(const fs::path& database, const ProcessRow& process,
                        const Names& stages, const Names& counters,
                        const std::string& lost) {
    return Opener(database, process, stages, counters).open(lost);
}

OwnedFile open_known_file(const fs::path& path, const ProcessRow& process,
                          const Names& stages, const Names& counters,
                          bool lock_is_held) {
    OwnedFile owned;
    bool locks_work = true;
    if (!lock_is_held) {
        auto [outcome, lock] =
            LockFile::acquire(lock_path_of(path), lock_text(process));
        if (outcome == LockFile::Outcome::taken) {
            return owned;
        }
        locks_work = outcome == LockFile::Outcome::locked;
        owned.lock = std::move(lock);
    }
    try {
        owned.file = std::make_unique<RunFile>(
            path, access_to(path, locks_work, process), process, stages, counters);
    } catch (...) {
        if (owned.lock) {
            owned.lock->remove();
        }
        throw;
    }
    return owned;
}

std::optional<std::string> trouble_with(const fs::path& database) {
    std::error_code error;
    fs::path folder = folder_of_others(database);
    while (folder.has_relative_path() && !fs::exists(folder, error)) {
        const bool may_be_made =
            folder == folder_of_others(database) || folder == database.parent_path();
        if (!may_be_made) {
            return off_because(database, reason_of(ENOENT));
        }
        folder = folder.parent_path();
    }
    if (!fs::is_directory(folder, error)) {
        return off_because(database, reason_of(ENOTDIR));
    }
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
        return off_because(database, reason_of(errno));
    }
    return std::nullopt;
}

}  // namespace metatrain_timing::detail
