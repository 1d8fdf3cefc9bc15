#include "recorder/core/src/ring_places.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "recorder/core/src/folder_entries.hpp"
#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/uuid.hpp"

namespace metatrain_timing::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderVariable = "METATRAIN_TIMING_RING_DIR";
constexpr const char* kSuffix = ".ring";

// The same for all spellings of one path.
std::string prefix_of(const fs::path& database) {
    std::error_code error;
    // Of a relative path of which nothing exists yet weakly_canonical() leaves it so.
    const fs::path absolute = fs::absolute(database, error);
    fs::path canonical = fs::weakly_canonical(absolute, error);
    if (error) {
        canonical = absolute;
    }
    return name_uuid(canonical.string()).substr(0, 18) + "-";
}

bool is_private(const fs::path& folder) {
    struct stat info{};
    return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

template <typename Wanted>
std::vector<fs::path> list_rings(const std::vector<fs::path>& folders, Wanted wanted) {
    std::vector<fs::path> rings;
    for (const fs::path& folder : folders) {
        if (!is_private(folder)) {
            continue;
        }
        for (const std::string& name : folder_entries(folder)) {
            if (name.ends_with(kSuffix) && wanted(name)) {
                rings.push_back(folder / name);
            }
        }
    }
    std::sort(rings.begin(), rings.end());
    return rings;
}

}  // namespace

std::vector<fs::path> ring_folders(const fs::path& database) {
    std::vector<fs::path> folders;
    const char* const wanted = std::getenv(kFolderVariable);
    if (wanted != nullptr && *wanted != '\0') {
        folders.emplace_back(wanted);
    }
    const fs::path shared = platform::shared_memory_folder();
    if (!shared.empty()) {
        folders.push_back(shared / fmt::format("metatrain-timing-{}", geteuid()));
    }
    fs::path beside = database;
    beside += ".d";
    folders.push_back(beside);
    return folders;
}

fs::path usable_ring_folder(const fs::path& database, std::size_t& from) {
    const std::vector<fs::path> folders = ring_folders(database);
    while (from < folders.size()) {
        const fs::path& folder = folders[from++];
        if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
            continue;
        }
        if (is_private(folder) && platform::is_local_filesystem(folder)) {
            return folder;
        }
    }
    return {};
}

std::string ring_name(const fs::path& database, std::string_view process_uuid) {
    return prefix_of(database) + std::string(process_uuid) + kSuffix;
}

std::vector<fs::path> find_rings(const fs::path& database) {
    const std::string prefix = prefix_of(database);
    return list_rings(ring_folders(database), [&](const std::string& name) {
        return name.starts_with(prefix);
    });
}

std::vector<fs::path> find_other_rings(const fs::path& database) {
    const std::string prefix = prefix_of(database);
    return list_rings(ring_folders(database), [&](const std::string& name) {
        return !name.starts_with(prefix);
    });
}

}  // namespace metatrain_timing::detail
