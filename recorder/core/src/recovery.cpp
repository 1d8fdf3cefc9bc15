#include <metatrain_timing/recorder/recovery.hpp>

#include <chrono>

#include "recorder/core/src/adoption.hpp"

namespace metatrain_timing {

Recovery recover(const std::filesystem::path& database) noexcept {
    constexpr std::chrono::seconds kPatience{60};
    Recovery recovery;
    try {
        const detail::Adoption adoption = detail::adopt_dead_rings(
            database, std::chrono::steady_clock::now() + kPatience);
        recovery.process_count = static_cast<std::int64_t>(adoption.adopted.size());
        for (const detail::Adopted& one : adoption.adopted) {
            recovery.record_count += one.record_count;
        }
        recovery.left_count = adoption.left_count;
    } catch (...) {
        // out of memory
    }
    return recovery;
}

}  // namespace metatrain_timing
