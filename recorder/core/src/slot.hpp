#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "recorder/core/src/lock_file.hpp"
#include "recorder/core/src/run_file.hpp"

namespace metatrain_timing::detail {

/// Nothing can be written. The text is a whole sentence.
struct NoFile : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A file that this process alone writes, as long as it lives.
struct OwnedFile {
    std::unique_ptr<RunFile> file;
    std::optional<LockFile> lock;  // nothing where locks do not work
    std::string detour;  // why it is not the usual file, a sentence; empty: it is
    bool detour_is_trouble = false;  // the user should hear of it
};

/// Finds and opens the file of a process life: the path the user gave for the training
/// process of rank 0, `<path>.d/rank1.db` for others, the first free one of
/// `<path>.d/rank0-w00.db`, … for workers and of `…-c00.db`, … for other children.
///
/// Where that one is taken or refused it is a new file, `<path>.d/<slot>-<uuid8>.db`.
/// `lost`, if not empty, is why the usual file is none any more, a sentence. Throws
/// NoFile where nothing can be written, and SQLite::Exception for trouble that may
/// pass: a reader in the way, a full disk.
OwnedFile open_own_file(const std::filesystem::path& database,
                        const ProcessRow& process, const Names& stages,
                        const Names& counters, const std::string& lost = {});

/// Opens the file that a dead process recorded into, to add what it could not write any
/// more. An empty OwnedFile where another process writes it now. `lock_is_held`: by the
/// caller.
OwnedFile open_known_file(const std::filesystem::path& path, const ProcessRow& process,
                          const Names& stages, const Names& counters,
                          bool lock_is_held);

/// What stands against writing beside `database`, seen without making anything; a whole
/// sentence. Nothing: it looks well.
std::optional<std::string> trouble_with(const std::filesystem::path& database);

}  // namespace metatrain_timing::detail
