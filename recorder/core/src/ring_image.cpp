#include "recorder/core/src/ring_image.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace metatrain_timing::detail {
namespace {

constexpr std::size_t kMaxBytes = 256U << 20U;  // no process of ours makes a longer one

bool read_fully(int descriptor, std::byte* into, std::size_t size) noexcept {
    std::size_t done = 0;
    while (done < size) {
        const ssize_t count =
            pread(descriptor, into + done, size - done, static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        done += static_cast<std::size_t>(count);
    }
    return true;
}

bool is_sound(const ThreadArea& area) noexcept {
    const std::uint64_t head = area.head.load();
    const std::uint64_t tail = area.tail.load();
    return area.track_number.load() != 0 && tail <= head &&
           head - tail <= ThreadArea::kCapacity;
}

}  // namespace

std::optional<RingImage> RingImage::read(int descriptor) {
    struct stat info{};
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        return std::nullopt;
    }
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size < sizeof(RingHeader) || size > kMaxBytes) {
        return std::nullopt;
    }
    std::vector<Line> lines(size / sizeof(Line));
    if (!read_fully(descriptor, lines.data()->bytes, lines.size() * sizeof(Line))) {
        return std::nullopt;
    }
    RingImage image(std::move(lines));
    if (!image.parse()) {
        return std::nullopt;
    }
    return image;
}

std::filesystem::path RingImage::run_path(int descriptor) {
    std::array<char, RingHeader::kMaxPath> text{};
    const ssize_t count =
        pread(descriptor, text.data(), text.size() - 1, offsetof(RingHeader, run_path));
    return count > 0 ? std::filesystem::path(text.data()) : std::filesystem::path();
}

bool RingImage::is_unfinished(int descriptor) {
    std::uint32_t version = 0;
    const ssize_t count = pread(descriptor, &version, sizeof version,
                                offsetof(RingHeader, layout_version));
    return count >= 0 && (count < static_cast<ssize_t>(sizeof version) || version == 0);
}

template <typename T>
T* RingImage::at(std::uint64_t offset) noexcept {
    static_assert(alignof(T) <= sizeof(Line));
    const std::uint64_t size = lines_.size() * sizeof(Line);
    if (offset % sizeof(Line) != 0 || sizeof(T) > size || offset > size - sizeof(T)) {
        return nullptr;
    }
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(lines_.data()) + offset);
}

bool RingImage::parse() {
    const RingHeader* const header = at<RingHeader>(0);
    if (header == nullptr || header->magic != kRingMagic ||
        header->layout_version.load() != kRingLayoutVersion) {
        return false;
    }
    const std::size_t count =
        std::min<std::size_t>(header->area_count.load(), RingHeader::kMaxAreas);
    for (const AreaEntry& entry : std::span(header->areas).first(count)) {
        if (entry.kind == AreaKind::thread) {
            ThreadArea* const area = at<ThreadArea>(entry.offset);
            if (area != nullptr && is_sound(*area)) {
                threads_.push_back(area);
            }
        } else if (const auto* area = at<DefinitionArea>(entry.offset)) {
            const std::uint64_t used =
                std::min<std::uint64_t>(area->used.load(), DefinitionArea::kCapacity);
            decode(std::span(area->bytes).first(used), definitions_);
        }
    }
    return definitions_.process.has_value();
}

std::optional<std::int64_t> RingImage::ended_ns() const {
    const auto& header = *reinterpret_cast<const RingHeader*>(lines_.data()->bytes);
    const std::int64_t ended_ns = header.ended_ns.load();
    // a damaged one is none
    return ended_ns > 0 && ended_ns >= process().info.started_ns
               ? std::optional(ended_ns)
               : std::nullopt;
}

std::filesystem::path RingImage::database() const {
    const auto& header = *reinterpret_cast<const RingHeader*>(lines_.data()->bytes);
    const std::size_t size =
        std::min<std::size_t>(header.path_size.load(), RingHeader::kMaxPath);
    return std::string(header.path.data(), size);
}

}  // namespace metatrain_timing::detail
