#pragma once

#include <cstdint>
#include <filesystem>

namespace metatrain_timing {

/// What `recover()` did.
struct Recovery {
    std::int64_t process_count = 0;  // killed processes whose records were saved
    std::int64_t record_count = 0;   // records that were saved
    std::int64_t left_count = 0;     // killed processes whose records still wait
};

/// Writes into `database`, and the files beside it, what processes that were killed
/// while they recorded for it had not written any more; see docs/design.md,
/// "Crash-safe rings". Where nobody was killed it touches no file. What cannot be
/// written now (a read-only folder, a full disk) stays where it is and is counted.
///
/// Never throws. Safe while processes record for the same path: those are left alone.
/// Takes some milliseconds for each process.
Recovery recover(const std::filesystem::path& database) noexcept;

}  // namespace metatrain_timing
