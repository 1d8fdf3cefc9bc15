#pragma once

#include <dirent.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace metatrain_timing::detail {

/// Names of all that is in a folder, in no order; empty where it cannot be read.
///
/// Not std::filesystem's iterator: that of libstdc++ 12 ends the program where it finds
/// no memory.
inline std::vector<std::string> folder_entries(const std::filesystem::path& folder) {
    struct Close {
        void operator()(DIR* open) const noexcept { closedir(open); }
    };
    const std::unique_ptr<DIR, Close> open(opendir(folder.c_str()));
    std::vector<std::string> names;
    while (open != nullptr) {
        const dirent* const entry = readdir(open.get());
        if (entry == nullptr) {
            break;
        }
        std::string name = entry->d_name;
        if (name != "." && name != "..") {
            names.push_back(std::move(name));
        }
    }
    return names;
}

}  // namespace metatrain_timing::detail
