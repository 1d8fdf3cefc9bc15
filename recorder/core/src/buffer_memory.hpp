#pragma once

#include <cstddef>

namespace metatrain_timing::detail {

/// Where the memory behind the rings comes from.
///
/// A forked child leaves its parent's memory alone and asks for its own.
class BufferMemory {
  public:
    virtual ~BufferMemory() = default;
    /// Zeroed, page-aligned memory of at least `size_bytes`, or nullptr.
    virtual void* allocate(std::size_t size_bytes) noexcept = 0;
    virtual void release(void* memory, std::size_t size_bytes) noexcept = 0;
};

/// Anonymous private memory of this process: gone with it, but pages that are never
/// touched cost nothing.
BufferMemory& anonymous_memory() noexcept;

}  // namespace metatrain_timing::detail
