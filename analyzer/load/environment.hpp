#pragma once

#include <cstdlib>
#include <string>

namespace metatrain_timing::analyzer {

/// The value of an environment variable, empty where it is not set.
inline std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// The file `metatrain-timing/<name>` in the folder that `folder_variable` names, else
/// in that folder of the home; `own_variable` names the file itself. Empty where none
/// of these is set.
inline std::string user_file(const char* own_variable, const char* folder_variable,
                             const std::string& folder_at_home,
                             const std::string& name) {
    if (const std::string named = variable(own_variable); !named.empty()) {
        return named;
    }
    std::string folder = variable(folder_variable);
    if (folder.empty()) {
        const std::string home = variable("HOME");
        if (home.empty()) {
            return "";
        }
        folder = home + "/" + folder_at_home;
    }
    return folder + "/metatrain-timing/" + name;
}

}  // namespace metatrain_timing::analyzer
