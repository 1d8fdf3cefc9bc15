#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "recorder/core/src/definition_code.hpp"
#include "recorder/core/src/mapped_file.hpp"
#include "recorder/core/src/ring_layout.hpp"

namespace metatrain_timing::detail {

/// The memory behind the rings of one process life: a ring file where there is a place
/// for one, from which everything can be told after the process was killed; else memory
/// that ends with the process.
///
/// Never destroyed, and its memory never given back, as a thread may be about to store
/// in it; a life needs 300 kB for each thread it has at a time. Callable from any
/// thread; locks for a short time, and does I/O only to make a file or an area.
class RingStore {
  public:
    /// For a life that records for `database`; empty: memory only.
    RingStore(const std::filesystem::path& database, const ProcessRow& process);
    ~RingStore() = default;
    RingStore(const RingStore&) = delete;
    RingStore& operator=(const RingStore&) = delete;

    /// Whether a kill loses nothing of the threads that got their areas from the file.
    bool is_a_file() const noexcept { return file_.has_value(); }

    /// Memory for one more thread, zeros; nullptr without.
    ThreadArea* make_thread_area() noexcept;

    /// Keeps a definition that records need as long as the life lasts.
    void keep(const NumberedName& name) noexcept;

    /// Keeps an encoded definition until the drain has written it.
    void keep_pending(const std::string& encoded) noexcept;
    /// What `forget_pending()` gets back once everything so far is written.
    std::uint64_t pending_mark() noexcept;
    void forget_pending(std::uint64_t mark) noexcept;

    /// The database that records of this life are in, if any are.
    void note_database(const std::filesystem::path& path) noexcept;

    /// The clean end of the life, which is not in the database yet.
    void note_end(std::int64_t ended_ns) noexcept;

    /// At the clean end of the life: the file is needed no more.
    void remove() noexcept;

    /// In a forked child.
    void close_inherited() const noexcept;

  private:
    void make_file(const std::filesystem::path& database, const ProcessRow& process);
    void* make_area(AreaKind kind, std::size_t size_bytes) noexcept;
    void append_lasting(const std::string& encoded) noexcept;

    std::mutex mutex_;
    std::optional<MappedFile> file_;
    RingHeader* header_ = nullptr;
    DefinitionArea* lasting_ = nullptr;
    DefinitionArea* pending_ = nullptr;
    std::size_t thread_count_ = 0;
};

}  // namespace metatrain_timing::detail
