#include "analyzer/load/scratch.hpp"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {

ScratchFolder::ScratchFolder() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = ((error ? "/tmp" : parent) / "mt-analyze-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw Error(name + ": cannot make a scratch folder (" +
                    std::generic_category().message(errno) +
                    "); set TMPDIR to a folder with room");
    }
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    if (!path_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
}

}  // namespace metatrain_timing::analyzer
