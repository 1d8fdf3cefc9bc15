#include "recorder/core/src/descriptors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace metatrain_timing::detail {

int open_above_streams(const char* path, int flags, mode_t mode) noexcept {
    const int descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor < 0 || descriptor > STDERR_FILENO) {
        return descriptor;
    }
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(descriptor);
    return moved;
}

std::optional<FileIdentity> identity_of(int descriptor) noexcept {
    struct stat info{};
    return fstat(descriptor, &info) == 0
               ? std::optional<FileIdentity>({info.st_dev, info.st_ino})
               : std::nullopt;
}

std::optional<FileIdentity> identity_of(const char* path) noexcept {
    struct stat info{};
    return lstat(path, &info) == 0
               ? std::optional<FileIdentity>({info.st_dev, info.st_ino})
               : std::nullopt;
}

std::optional<FileIdentity> identity_behind(const char* path) noexcept {
    struct stat info{};
    return stat(path, &info) == 0
               ? std::optional<FileIdentity>({info.st_dev, info.st_ino})
               : std::nullopt;
}

bool names_the_same_file(const char* path, int descriptor) noexcept {
    const auto opened = identity_of(descriptor);
    return opened && identity_of(path) == opened;
}

bool lock_whole_file(int descriptor) noexcept {
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    return fcntl(descriptor, F_SETLK, &whole) == 0;
}

}  // namespace metatrain_timing::detail
