#include "recorder/core/src/held_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace metatrain_timing::detail {

void HeldFiles::add(int descriptor) noexcept {
    struct stat info{};
    if (fstat(descriptor, &info) != 0) {
        return;
    }
    const pid_t here = getpid();
    for (Entry& entry : entries_) {
        pid_t owner = entry.owner.load();
        // One of a parent is free: its entries came along with the fork.
        if (owner != here && entry.owner.compare_exchange_strong(owner, here)) {
            entry.device.store(info.st_dev);
            entry.inode.store(info.st_ino);
            return;
        }
    }
}

void HeldFiles::remove(int descriptor) noexcept {
    struct stat info{};
    if (fstat(descriptor, &info) != 0) {
        return;
    }
    for (Entry& entry : entries_) {
        if (entry.owner.load() == getpid() && entry.device.load() == info.st_dev &&
            entry.inode.load() == info.st_ino) {
            entry.inode.store(0);
            entry.owner.store(0);
        }
    }
}

bool HeldFiles::contains(const std::filesystem::path& path) const noexcept {
    struct stat info{};
    if (lstat(path.c_str(), &info) != 0) {
        return false;
    }
    for (const Entry& entry : entries_) {
        if (entry.owner.load() == getpid() && entry.device.load() == info.st_dev &&
            entry.inode.load() == info.st_ino) {
            return true;
        }
    }
    return false;
}

}  // namespace metatrain_timing::detail
