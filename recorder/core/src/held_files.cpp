#include "recorder/core/src/held_files.hpp"

#include <unistd.h>

namespace metatrain_timing::detail {

void HeldFiles::add(const FileIdentity& file) noexcept {
    const pid_t here = getpid();
    for (Entry& entry : entries_) {
        pid_t owner = entry.owner.load();
        // One of a parent is free: its entries came along with the fork.
        if (owner != here && entry.owner.compare_exchange_strong(owner, here)) {
            entry.device.store(file.device);
            entry.inode.store(file.inode);
            return;
        }
    }
}

void HeldFiles::remove(const FileIdentity& file) noexcept {
    if (Entry* const entry = find(file)) {
        entry->inode.store(0);
        entry->owner.store(0);
    }
}

bool HeldFiles::contains(const std::filesystem::path& path) noexcept {
    const auto file = identity_of(path.c_str());
    return file && find(*file) != nullptr;
}

HeldFiles::Entry* HeldFiles::find(const FileIdentity& file) noexcept {
    for (Entry& entry : entries_) {
        if (entry.owner.load() == getpid() && entry.device.load() == file.device &&
            entry.inode.load() == file.inode) {
            return &entry;
        }
    }
    return nullptr;
}

}  // namespace metatrain_timing::detail
