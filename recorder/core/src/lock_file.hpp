#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace metatrain_timing::detail {

/// The right to write one database: a classic fcntl lock on a file beside it that
/// nothing else opens.
///
/// Unlike flock and OFD locks it belongs to one process: children do not inherit it,
/// and it ends with the process however that ends. But closing any descriptor of the
/// file in the owning process lets it go, hence a file that nothing else opens.
class LockFile {
  public:
    enum class Outcome {
        locked,
        taken,        // by another process
        unsupported,  // no locks on this filesystem
        unwritable,   // the file cannot be made; errno says why
    };

    /// Tries to become the owner of `path`; never waits. `text`, for people, says who.
    static std::pair<Outcome, std::optional<LockFile>> acquire(
        const std::filesystem::path& path, const std::string& text);

    LockFile(LockFile&& other) noexcept;
    LockFile& operator=(LockFile&& other) noexcept;
    LockFile(const LockFile&) = delete;
    LockFile& operator=(const LockFile&) = delete;
    /// Lets go; the file stays behind.
    ~LockFile();

    /// Removes the file and lets go. Who got hold of the file meanwhile sees that the
    /// path does not name it any more and tries again.
    void remove() noexcept;

    int descriptor() const noexcept { return descriptor_; }

  private:
    LockFile(std::filesystem::path path, int descriptor)
        : path_(std::move(path)), descriptor_(descriptor) {}

    std::filesystem::path path_;
    int descriptor_;  // -1: let go
};

}  // namespace metatrain_timing::detail
