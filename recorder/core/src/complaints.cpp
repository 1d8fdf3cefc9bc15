#include "recorder/core/src/complaints.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace metatrain_timing::detail {

Complaints::Complaints() noexcept : said_(&unshared_) {
    static_assert(std::atomic<bool>::is_always_lock_free);
    void* const page = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        said_ = new (page) std::atomic<bool>(false);
    }
}

void Complaints::say(std::string_view text) noexcept {
    if (quiet_.load(std::memory_order_relaxed) || said_->exchange(true)) {
        return;
    }
    try {
        // One write, so that lines of several processes do not mix.
        const std::string line = "metatrain-timing: " + std::string(text) + "\n";
        const auto written = write(STDERR_FILENO, line.data(), line.size());
        static_cast<void>(written);  // stderr may be closed; nobody is left to be told
    } catch (...) {
        // out of memory
    }
}

}  // namespace metatrain_timing::detail
