#include "recorder/core/src/buffer_memory.hpp"

#include <sys/mman.h>

namespace metatrain_timing::detail {
namespace {

class AnonymousMemory final : public BufferMemory {
  public:
    void* allocate(std::size_t size_bytes) noexcept override {
        void* const memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? nullptr : memory;
    }
    void release(void* memory, std::size_t size_bytes) noexcept override {
        munmap(memory, size_bytes);
    }
};

}  // namespace

BufferMemory& anonymous_memory() noexcept {
    static AnonymousMemory memory;
    return memory;
}

}  // namespace metatrain_timing::detail
