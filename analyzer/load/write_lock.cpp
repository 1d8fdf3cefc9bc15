#include "analyzer/load/write_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "analyzer/error.hpp"
#include "analyzer/load/file_lock.hpp"

namespace metatrain_timing::analyzer {
namespace {

// The owner before may have removed the file that we locked.
bool still_named(const std::string& path, int descriptor) {
    struct stat by_name{};
    struct stat locked{};
    return stat(path.c_str(), &by_name) == 0 && fstat(descriptor, &locked) == 0 &&
           by_name.st_dev == locked.st_dev && by_name.st_ino == locked.st_ino;
}

}  // namespace

WriteLock::WriteLock(const std::string& path) : lock_path_(path + ".lock") {
    const Error recording(path + ": a process is recording into it; wait for its end");
    if (opened_by_this_process(lock_path_)) {
        throw recording;
    }
    for (;;) {
        descriptor_ = open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor_ < 0) {
            throw Error(lock_path_ + ": cannot be made (" +
                        std::generic_category().message(errno) + ")");
        }
        struct flock lock{};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        if (fcntl(descriptor_, F_SETLK, &lock) != 0) {
            const int error = errno;
            close(descriptor_);
            if (error == EACCES || error == EAGAIN) {
                throw recording;
            }
            throw Error(lock_path_ + ": cannot be locked (" +
                        std::generic_category().message(error) +
                        "); merge into a new file with -o");
        }
        if (still_named(lock_path_, descriptor_)) {
            return;
        }
        close(descriptor_);
    }
}

WriteLock::~WriteLock() {
    if (descriptor_ >= 0) {
        unlink(lock_path_.c_str());
        close(descriptor_);
    }
}

WriteLock::WriteLock(WriteLock&& other) noexcept
    : lock_path_(std::move(other.lock_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {
}

}  // namespace metatrain_timing::analyzer
