#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace metatrain_timing::detail {

/// A process whose last records were saved after its end.
struct Adopted {
    std::int64_t record_count = 0;   // that were not in its database yet
    std::filesystem::path database;  // where they are now
};

struct Adoption {
    std::vector<Adopted> adopted;
    std::int64_t left_count = 0;  // dead processes whose records could not be written
};

struct AdoptionOptions {
    /// A file whose lock the caller has; it is not open. Only what belongs there is
    /// adopted then.
    std::filesystem::path held = {};
    /// The process life that ended its children on purpose: those ended cleanly.
    std::string ender_uuid = {};
};

/// Writes into its database what a process that was killed while it recorded for
/// `database` had left in its ring file: records, definitions, the intervals that were
/// open. For all such processes, until `deadline`.
///
/// Each record is written once, however often this is interrupted: the transaction that
/// writes records also notes how far the ring was read, and the ring file is removed
/// only afterwards. Of several processes that try, one succeeds. A process that lives,
/// here or in another container, holds the lock of its ring file and is left alone.
/// What cannot be written now stays for later. Never throws.
Adoption adopt_dead_rings(const std::filesystem::path& database,
                          std::chrono::steady_clock::time_point deadline,
                          const AdoptionOptions& options = {});

/// Removes ring files of dead processes whose runs were deleted since, as they lie in
/// memory that others need: where neither the file of METATRAIN_TIMING_DB nor the
/// folder it was to lie in is there any more. Never throws.
void remove_orphaned_rings(const std::filesystem::path& database) noexcept;

}  // namespace metatrain_timing::detail
