#include "recorder/core/src/mapped_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/signal_guard.hpp"

namespace metatrain_timing::detail {
namespace {

// What must stay free for others: DataLoaders pass their batches through the same
// shared memory, of which a container often has 64 MB in all.
constexpr std::uint64_t kKeptFreeBytes = 16U << 20U;
constexpr std::uint64_t kKeptFreeTimes = 64;
constexpr int kMostMapTries = 3;

bool has_room_for(int descriptor, std::size_t size_bytes) noexcept {
    struct statvfs info{};
    if (fstatvfs(descriptor, &info) != 0) {
        return false;
    }
    const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
    return free >= kKeptFreeBytes + kKeptFreeTimes * size_bytes;
}

std::size_t in_system_pages(std::size_t size_bytes) noexcept {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (size_bytes + page - 1) / page * page;
}

}  // namespace

std::optional<MappedFile> MappedFile::make(const std::filesystem::path& path) {
    for (int attempt = 0; attempt < kMostMapTries; ++attempt) {
        auto [outcome, lock] = LockFile::open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (lock) {
            return MappedFile(std::move(*lock));
        }
        if (outcome == LockFile::Outcome::unwritable && errno == ENOENT) {
            // The last one who had a file there removed the folder.
            mkdir(path.parent_path().c_str(), 0700);
        } else if (outcome == LockFile::Outcome::unwritable) {
            return std::nullopt;
        } else if (outcome != LockFile::Outcome::replaced) {
            unlink(path.c_str());  // made, but not locked
            return std::nullopt;
        }
        // replaced: who looks for rings of the dead was faster than the lock
    }
    return std::nullopt;
}

MappedFile::Area MappedFile::grow(std::size_t size_bytes) noexcept {
    const SignalGuard guard;  // beyond RLIMIT_FSIZE an allocation raises SIGXFSZ
    const int descriptor = lock_.descriptor();
    const std::size_t size = in_system_pages(size_bytes);
    if (descriptor < 0 || !has_room_for(descriptor, size) ||
        !platform::allocate(descriptor, size_, size)) {
        return {};
    }
    void* const memory = platform::map_shared(descriptor, size_, size);
    if (memory == nullptr) {
        return {};
    }
    const Area area{memory, size_};
    size_ += size;
    return area;
}

void MappedFile::remove() noexcept {
    lock_.remove();
    rmdir(folder_.c_str());  // fails where others are in it
}

void MappedFile::close_inherited() const noexcept {
    if (lock_.descriptor() >= 0) {
        close(lock_.descriptor());
    }
}

}  // namespace metatrain_timing::detail
