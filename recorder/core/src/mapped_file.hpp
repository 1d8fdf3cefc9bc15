#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace metatrain_timing::detail {

/// A file whose bytes are memory of this process: what is stored there is in the file
/// at once, also when the process is killed the next instant.
///
/// Each byte is allocated in the filesystem before it is mapped; a store to a page that
/// a full filesystem cannot give would kill the process. Forked children have neither
/// the memory nor the lock. Not thread-safe.
class MappedFile {
  public:
    /// Makes a new file that only its owner may read, and locks it (see `LockFile`).
    /// Nothing where that cannot be done, the filesystem lacks what it takes, or more
    /// than half of it would be in use afterwards.
    static std::optional<MappedFile> make(const std::filesystem::path& path) noexcept;

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    /// Lets go of the lock. The memory stays: a thread may be about to store in it.
    ~MappedFile();

    struct Area {
        void* memory = nullptr;  // nullptr: the filesystem has no room
        std::size_t offset = 0;  // in the file
    };
    /// Makes the file longer by at least `size_bytes` zeros, on pages of their own.
    Area grow(std::size_t size_bytes) noexcept;

    /// Removes the file. The memory stays.
    void remove() noexcept;

    /// In a forked child, which has inherited the descriptor but not the lock.
    void close_inherited() const noexcept;

    const std::filesystem::path& path() const noexcept { return path_; }

  private:
    MappedFile(std::filesystem::path path, int descriptor) noexcept
        : path_(std::move(path)), descriptor_(descriptor) {}

    std::filesystem::path path_;
    int descriptor_;  // -1: let go
    std::size_t size_ = 0;
};

}  // namespace metatrain_timing::detail
