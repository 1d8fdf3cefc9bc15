#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>

#include "recorder/core/src/descriptors.hpp"

namespace metatrain_timing::detail {

/// The files that this process has locked. To open and close one of them
/// again would let go of its lock, and to lock it again would succeed: classic locks
/// are the process's.
///
/// Takes no lock that a fork could catch; a forked child holds none of its parent's.
class HeldFiles {
  public:
    void add(const FileIdentity& file) noexcept;
    void remove(const FileIdentity& file) noexcept;
    bool contains(const std::filesystem::path& path) noexcept;

  private:
    // A process has one or two at a time. An entry without owner is free.
    struct Entry {
        std::atomic<pid_t> owner{0};
        std::atomic<std::uint64_t> device{0};
        std::atomic<std::uint64_t> inode{0};
    };
    Entry* find(const FileIdentity& file) noexcept;

    std::array<Entry, 32> entries_;
};

}  // namespace metatrain_timing::detail
