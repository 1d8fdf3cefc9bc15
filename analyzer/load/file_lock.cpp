#include "analyzer/load/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace metatrain_timing::analyzer {

bool opened_by_this_process(const std::string& path) {
    struct stat wanted{};
    if (stat(path.c_str(), &wanted) != 0) {
        return false;
    }
    std::error_code error;
    std::filesystem::directory_iterator entries("/dev/fd", error);
    for (const std::filesystem::directory_iterator end; !error && entries != end;
         entries.increment(error)) {
        const std::string name = entries->path().filename().string();
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        struct stat found{};
        if (descriptor >= 0 && fstat(descriptor, &found) == 0 &&
            found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) {
            return true;
        }
    }
    return false;
}

bool is_being_recorded(const std::string& path) {
    const std::string lock_path = path + ".lock";
    if (opened_by_this_process(lock_path)) {
        return true;  // only a recorder opens it: the one of this process
    }
    const int descriptor = open(lock_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return false;
    }
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool asked = fcntl(descriptor, F_GETLK, &lock) == 0;
    close(descriptor);
    return asked && lock.l_type != F_UNLCK;
}

}  // namespace metatrain_timing::analyzer
