#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "recorder/core/src/definition_code.hpp"
#include "recorder/core/src/ring_layout.hpp"

namespace metatrain_timing::detail {

/// A copy of a dead process's ring file, checked: whatever its bytes are, what is given
/// out here lies inside of it. A copy, as a file that somebody cuts while it is mapped
/// kills who reads it.
class RingImage {
  public:
    /// Nothing where the file is no ring file that this version can read.
    static std::optional<RingImage> read(int descriptor);

    /// What METATRAIN_TIMING_DB named for the process of a ring file; empty: unknown.
    static std::filesystem::path run_path(int descriptor);

    /// Whether the process was killed before the file was ready, and thus before it
    /// recorded anything.
    static bool is_unfinished(int descriptor);

    const ProcessRow& process() const noexcept { return *definitions_.process; }
    const std::vector<NumberedName>& names() const noexcept {
        return definitions_.names;
    }
    const PendingDefinitions& pending() const noexcept { return definitions_.pending; }
    /// Areas of the threads that the process had, or had last, at its end.
    std::span<ThreadArea* const> threads() const noexcept { return threads_; }
    /// When the process ended recording by itself; nothing where it was killed before.
    std::optional<std::int64_t> ended_ns() const;
    /// The database that its records are in; empty: in none.
    std::filesystem::path database() const;

  private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };

    explicit RingImage(std::vector<Line> lines) : lines_(std::move(lines)) {}
    bool parse();
    template <typename T>
    T* at(std::uint64_t offset) noexcept;

    std::vector<Line> lines_;
    DecodedDefinitions definitions_;
    std::vector<ThreadArea*> threads_;
};

}  // namespace metatrain_timing::detail
