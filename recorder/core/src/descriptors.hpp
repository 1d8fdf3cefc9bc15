#pragma once

#include <sys/types.h>

namespace metatrain_timing::detail {

/// open(2), close-on-exec and never through a symbolic link, at a descriptor above
/// those of the standard streams: a program that closed stderr and prints to it all the
/// same must not write there. -1 with errno set.
int open_above_streams(const char* path, int flags, mode_t mode = 0) noexcept;

/// Whether the path still names the file of the descriptor.
bool names_the_same_file(const char* path, int descriptor) noexcept;

/// Takes a classic fcntl lock on the whole file, without waiting; false with errno set.
bool lock_whole_file(int descriptor) noexcept;

}  // namespace metatrain_timing::detail
