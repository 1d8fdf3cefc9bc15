#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "recorder/core/src/descriptors.hpp"

namespace metatrain_timing::detail {

/// A file that this process has locked: a classic fcntl lock on all of it.
///
/// Unlike flock and OFD locks it belongs to one process: children do not inherit it,
/// and it ends with the process however that ends. But closing any descriptor of the
/// file in the owning process lets it go, hence a file that nothing else opens, and
/// that is not opened a second time here.
class LockFile {
  public:
    enum class Outcome {
        locked,
        taken,        // by another process, or by this one already
        replaced,     // the path names another file by now
        unsupported,  // no locks on this filesystem
        unwritable,   // the file cannot be opened or made; errno says why
    };
    using Attempt = std::pair<Outcome, std::optional<LockFile>>;

    /// Opens `path`, with `flags` and `mode` of open(2), and tries to lock it; never
    /// waits.
    static Attempt open(const std::filesystem::path& path, int flags, mode_t mode = 0);

    /// Tries to become the owner of `path`, a file beside a database: its lock is the
    /// right to write that. Makes the file; never waits. `text`, for people, says who.
    static Attempt acquire(const std::filesystem::path& path, const std::string& text);

    /// Whether this process has locked `path`: to open and close it would let go.
    static bool is_held(const std::filesystem::path& path) noexcept;

    LockFile(LockFile&& other) noexcept;
    LockFile& operator=(LockFile&& other) noexcept;
    LockFile(const LockFile&) = delete;
    LockFile& operator=(const LockFile&) = delete;
    /// Lets go; the file stays behind.
    ~LockFile();

    /// Removes the file and lets go. Who got hold of the file meanwhile sees that the
    /// path does not name it any more and tries again.
    void remove() noexcept;

    const std::filesystem::path& path() const noexcept { return path_; }
    /// -1 where it was let go, or where the program closed it: the number may be that
    /// of another file then.
    int descriptor() const noexcept {
        return opened_.is_still_open() ? opened_.descriptor : -1;
    }

  private:
    LockFile(std::filesystem::path path, const OpenedFile& opened)
        : path_(std::move(path)), opened_(opened) {}
    void let_go() noexcept;

    std::filesystem::path path_;
    OpenedFile opened_;  // without a descriptor: let go
};

}  // namespace metatrain_timing::detail
