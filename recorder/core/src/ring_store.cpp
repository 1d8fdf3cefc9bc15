#include "recorder/core/src/ring_store.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/ring_places.hpp"

namespace metatrain_timing::detail {
namespace {

// Threads beyond that record into memory of the process alone: 19 MiB of a filesystem
// that others need, too, are enough.
constexpr std::size_t kMaxThreadsInFile = 64;

void* private_zeros(std::size_t size_bytes) noexcept {
    void* const memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

bool append(DefinitionArea& area, const std::string& encoded) noexcept {
    const std::uint64_t used = area.used.load(std::memory_order_relaxed);
    if (encoded.size() > DefinitionArea::kCapacity - used) {
        return false;
    }
    std::memcpy(area.bytes.data() + used, encoded.data(), encoded.size());
    area.used.store(used + encoded.size(), std::memory_order_release);
    return true;
}

}  // namespace

RingStore::RingStore(const std::filesystem::path& database, const ProcessRow& process) {
    if (!database.empty() && platform::maps_files()) {
        try {
            make_file(database, process);
        } catch (...) {
            file_.reset();  // out of memory
        }
    }
}

void RingStore::make_file(const std::filesystem::path& database,
                          const ProcessRow& process) {
    const std::string name = ring_name(database, process.process_uuid);
    std::size_t next_folder = 0;
    for (auto folder = usable_ring_folder(database, next_folder); !folder.empty();
         folder = usable_ring_folder(database, next_folder)) {
        auto file = MappedFile::make(folder / name);
        if (!file && mkdir(folder.c_str(), 0700) == 0) {
            // who adopted the last ring there had removed the folder meanwhile
            file = MappedFile::make(folder / name);
        }
        if (!file) {
            continue;
        }
        file_.emplace(std::move(*file));
        header_ = static_cast<RingHeader*>(file_->grow(sizeof(RingHeader)).memory);
        if (header_ != nullptr) {
            lasting_ = static_cast<DefinitionArea*>(
                make_area(AreaKind::lasting, sizeof(DefinitionArea)));
            pending_ = static_cast<DefinitionArea*>(
                make_area(AreaKind::pending, sizeof(DefinitionArea)));
        }
        if (header_ != nullptr) {
            const std::string& path = database.native();
            path.copy(header_->run_path.data(), header_->run_path.size() - 1);
        }
        if (lasting_ != nullptr && pending_ != nullptr &&
            append(*lasting_, encode(process))) {
            header_->magic = kRingMagic;
            header_->layout_version.store(kRingLayoutVersion,
                                          std::memory_order_release);
            return;
        }
        file_->remove();
        file_.reset();
        header_ = nullptr;
        lasting_ = nullptr;
        pending_ = nullptr;
    }
}

void* RingStore::make_area(AreaKind kind, std::size_t size_bytes) noexcept {
    const std::uint32_t count = header_->area_count.load(std::memory_order_relaxed);
    if (count >= RingHeader::kMaxAreas) {
        return nullptr;
    }
    const MappedFile::Area area = file_->grow(size_bytes);
    if (area.memory != nullptr) {
        header_->areas[count] = {area.offset, kind, 0};
        header_->area_count.store(count + 1, std::memory_order_release);
    }
    return area.memory;
}

ThreadArea* RingStore::make_thread_area() noexcept {
    const std::lock_guard lock(mutex_);
    void* memory = nullptr;
    if (file_ && thread_count_ < kMaxThreadsInFile) {
        memory = make_area(AreaKind::thread, sizeof(ThreadArea));
        thread_count_ += memory != nullptr ? 1 : 0;
    }
    return static_cast<ThreadArea*>(
        memory != nullptr ? memory : private_zeros(sizeof(ThreadArea)));
}

void RingStore::append_lasting(const std::string& encoded) noexcept {
    if (lasting_ == nullptr || append(*lasting_, encoded)) {
        return;
    }
    void* const more = make_area(AreaKind::lasting, sizeof(DefinitionArea));
    if (more != nullptr) {
        lasting_ = static_cast<DefinitionArea*>(more);
        append(*lasting_, encoded);
    }
}

void RingStore::keep(const NumberedName& name) noexcept {
    try {
        const std::string encoded = encode(name);
        const std::lock_guard lock(mutex_);
        append_lasting(encoded);
    } catch (...) {
        // out of memory: a kill would leave records whose name is not known
    }
}

// One that finds no room is lost if the process is killed before the drain writes it.
void RingStore::keep_pending(const std::string& encoded) noexcept {
    const std::lock_guard lock(mutex_);
    if (pending_ != nullptr) {
        append(*pending_, encoded);
    }
}

std::uint64_t RingStore::pending_mark() noexcept {
    const std::lock_guard lock(mutex_);
    return pending_ == nullptr ? 0 : pending_->used.load(std::memory_order_relaxed);
}

// Where more was added since, it all stays: to write a definition twice changes
// nothing.
void RingStore::forget_pending(std::uint64_t mark) noexcept {
    const std::lock_guard lock(mutex_);
    if (pending_ != nullptr && pending_->used.load(std::memory_order_relaxed) == mark) {
        pending_->used.store(0, std::memory_order_release);
    }
}

void RingStore::note_database(const std::filesystem::path& path) noexcept {
    const std::lock_guard lock(mutex_);
    const std::string& text = path.native();
    if (header_ == nullptr || text.size() > RingHeader::kMaxPath) {
        return;
    }
    header_->path_size.store(0, std::memory_order_release);
    std::copy(text.begin(), text.end(), header_->path.begin());
    header_->path_size.store(static_cast<std::uint32_t>(text.size()),
                             std::memory_order_release);
}

void RingStore::note_end(std::int64_t ended_ns) noexcept {
    const std::lock_guard lock(mutex_);
    if (header_ != nullptr) {
        header_->ended_ns.store(ended_ns, std::memory_order_release);
    }
}

void RingStore::remove() noexcept {
    const std::lock_guard lock(mutex_);
    if (file_) {
        file_->remove();
    }
}

void RingStore::close_inherited() const noexcept {
    if (file_) {
        file_->close_inherited();
    }
}

}  // namespace metatrain_timing::detail
