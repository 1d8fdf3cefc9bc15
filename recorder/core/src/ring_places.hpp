#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace metatrain_timing::detail {

/// Folders in which ring files of a database may lie, best first: that of
/// METATRAIN_TIMING_RING_DIR, a folder of the user in shared memory, `run.db.d` on a
/// local filesystem.
std::vector<std::filesystem::path> ring_folders(const std::filesystem::path& database);

/// The first of them that is there, or can be made, and that no other user can write
/// to; none of those before `from` is tried. `from` is the index of the next one
/// afterwards. An empty path: none is left.
std::filesystem::path usable_ring_folder(const std::filesystem::path& database,
                                         std::size_t& from);

/// Name of the ring file of a process life.
std::string ring_name(const std::filesystem::path& database,
                      std::string_view process_uuid);

/// All ring files of a database, in all its folders.
std::vector<std::filesystem::path> find_rings(const std::filesystem::path& database);

/// The ring files of other databases, in the folders that all share.
std::vector<std::filesystem::path> find_other_rings(
    const std::filesystem::path& database);

}  // namespace metatrain_timing::detail
