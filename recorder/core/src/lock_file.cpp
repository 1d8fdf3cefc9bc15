#include "recorder/core/src/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace metatrain_timing::detail {
namespace {

constexpr int kMaxTries =
    100;  // each lost to a process that removed the file meanwhile

// A descriptor above those of the standard streams: a program that closed stderr and
// prints to it all the same must not write here.
int open_above_streams(const char* path) noexcept {
    const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0 || descriptor > STDERR_FILENO) {
        return descriptor;
    }
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(descriptor);
    return moved;
}

bool names_the_same_file(const char* path, int descriptor) noexcept {
    struct stat opened{};
    struct stat named{};
    return fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void write_text(int descriptor, const std::string& text) noexcept {
    if (ftruncate(descriptor, 0) == 0) {
        const auto written = pwrite(descriptor, text.data(), text.size(), 0);
        static_cast<void>(written);  // for people only
    }
}

}  // namespace

std::pair<LockFile::Outcome, std::optional<LockFile>> LockFile::acquire(
    const std::filesystem::path& path, const std::string& text) {
    for (int attempt = 0; attempt < kMaxTries; ++attempt) {
        const int descriptor = open_above_streams(path.c_str());
        if (descriptor < 0) {
            return {Outcome::unwritable, std::nullopt};
        }
        LockFile lock(path, descriptor);
        struct flock whole{};
        whole.l_type = F_WRLCK;
        whole.l_whence = SEEK_SET;
        if (fcntl(descriptor, F_SETLK, &whole) != 0) {
            const bool taken = errno == EACCES || errno == EAGAIN;
            return {taken ? Outcome::taken : Outcome::unsupported, std::nullopt};
        }
        if (names_the_same_file(path.c_str(), descriptor)) {
            write_text(descriptor, text);
            return {Outcome::locked, std::move(lock)};
        }
    }
    return {Outcome::taken, std::nullopt};
}

LockFile::LockFile(LockFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

LockFile::~LockFile() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

void LockFile::remove() noexcept {
    if (descriptor_ >= 0) {
        if (names_the_same_file(path_.c_str(), descriptor_)) {
            unlink(path_.c_str());
        }
        close(descriptor_);
        descriptor_ = -1;
    }
}

}  // namespace metatrain_timing::detail
