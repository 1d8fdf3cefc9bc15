#pragma once

#include <sys/types.h>

#include <optional>

namespace metatrain_timing::detail {

/// What tells a file from every other one of this host while it exists.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
};

std::optional<FileIdentity> identity_of(int descriptor) noexcept;
/// Of the link itself, where the path is one; `identity_behind` follows it.
std::optional<FileIdentity> identity_of(const char* path) noexcept;
std::optional<FileIdentity> identity_behind(const char* path) noexcept;

/// A descriptor and the file it is of: the number alone may mean another by now, where
/// the program closed descriptors that are not its own.
struct OpenedFile {
    int descriptor = -1;
    FileIdentity file;

    bool is_still_open() const noexcept { return identity_of(descriptor) == file; }
};

/// open(2), close-on-exec and never through a symbolic link, at a descriptor above
/// those of the standard streams: a program that closed stderr and prints to it all the
/// same must not write there. -1 with errno set.
int open_above_streams(const char* path, int flags, mode_t mode = 0) noexcept;

/// Whether the path still names the file of the descriptor.
bool names_the_same_file(const char* path, int descriptor) noexcept;

/// Takes a classic fcntl lock on the whole file, without waiting; false with errno set.
bool lock_whole_file(int descriptor) noexcept;

}  // namespace metatrain_timing::detail
