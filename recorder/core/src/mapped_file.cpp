#include "recorder/core/src/mapped_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "recorder/core/src/descriptors.hpp"
#include "recorder/core/src/held_files.hpp"
#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail {
namespace {

// What must stay free for others: DataLoaders pass their batches through the same
// shared memory, of which a container often has 64 MB in all.
constexpr std::uint64_t kKeptFreeBytes = 16U << 20U;
constexpr std::uint64_t kKeptFreeTimes = 64;
constexpr int kMostTries = 3;

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

std::optional<MappedFile> MappedFile::make(const std::filesystem::path& path) noexcept {
    for (int attempt = 0; attempt < kMostTries; ++attempt) {
        const int descriptor =
            open_above_streams(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        if (descriptor < 0 && errno == ENOENT) {
            // The last one who had a file there removed the folder.
            mkdir(path.parent_path().c_str(), 0700);
            continue;
        }
        if (descriptor < 0) {
            return std::nullopt;
        }
        MappedFile file(path, descriptor);
        if (!lock_whole_file(descriptor)) {
            file.remove();
            return std::nullopt;
        }
        // Somebody who looks for rings of the dead may have been faster than the lock.
        if (names_the_same_file(path.c_str(), descriptor)) {
            held_rings.add(descriptor);
            return file;
        }
    }
    return std::nullopt;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {
}

MappedFile::~MappedFile() {
    if (descriptor_ >= 0) {
        held_rings.remove(descriptor_);
        close(descriptor_);
    }
}

MappedFile::Area MappedFile::grow(std::size_t size_bytes) noexcept {
    const std::size_t size = in_system_pages(size_bytes);
    if (descriptor_ < 0 || !has_room_for(descriptor_, size) ||
        !platform::allocate(descriptor_, size_, size)) {
        return {};
    }
    void* const memory = platform::map_shared(descriptor_, size_, size);
    if (memory == nullptr) {
        return {};
    }
    const Area area{memory, size_};
    size_ += size;
    return area;
}

void MappedFile::remove() noexcept {
    if (descriptor_ >= 0) {
        if (names_the_same_file(path_.c_str(), descriptor_)) {
            unlink(path_.c_str());
            rmdir(path_.parent_path().c_str());  // fails where others are in it
        }
        held_rings.remove(descriptor_);
        close(descriptor_);
        descriptor_ = -1;
    }
}

void MappedFile::close_inherited() const noexcept {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

}  // namespace metatrain_timing::detail
