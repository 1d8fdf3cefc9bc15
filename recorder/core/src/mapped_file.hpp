#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>

#include "recorder/core/src/lock_file.hpp"

namespace metatrain_timing::detail {

/// A file whose bytes are memory of this process: what is stored there is in the file
/// at once, also when the process is killed the next instant.
///
/// Each byte is allocated in the filesystem before it is mapped; a store to a page that
/// a full filesystem cannot give would kill the process. The memory is never given
/// back, as a thread may be about to store in it. Forked children have neither the
/// memory nor the lock. Not thread-safe.
class MappedFile {
  public:
    /// Makes a new file that only its owner may read, and locks it. Nothing where that
    /// cannot be done.
    static std::optional<MappedFile> make(const std::filesystem::path& path);

    struct Area {
        void* memory = nullptr;  // nullptr: the filesystem has no room
        std::size_t offset = 0;  // in the file
    };
    /// Makes the file longer by at least `size_bytes` zeros, on pages of their own.
    /// What others need of the filesystem is left to them.
    Area grow(std::size_t size_bytes) noexcept;

    /// Removes the file, and its folder if nothing else is in it.
    void remove() noexcept;

    /// In a forked child, which has inherited the descriptor but not the lock.
    void close_inherited() const noexcept;

  private:
    explicit MappedFile(LockFile lock)
        : lock_(std::move(lock)), folder_(lock_.path().parent_path()) {}

    LockFile lock_;
    std::filesystem::path folder_;
    std::size_t size_ = 0;
};

}  // namespace metatrain_timing::detail
