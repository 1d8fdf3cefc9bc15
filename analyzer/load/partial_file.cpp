#include "analyzer/load/partial_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
    throw Error(path + ": " + what + " (" + std::generic_category().message(error) +
                ")");
}

}  // namespace

PartialFile::PartialFile(const std::string& path) : name_(path + ".partial-XXXXXX") {
    const int descriptor = mkstemp(name_.data());
    if (descriptor < 0) {
        fail(path, "cannot be written", errno);
    }
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
    close(descriptor);
}

PartialFile::~PartialFile() {
    if (!name_.empty()) {
        unlink(name_.c_str());
    }
}

void PartialFile::make_durable() const {
    const int descriptor = open(name_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fsync(descriptor) != 0) {
        fail(name_, "cannot be written", errno);
    }
    close(descriptor);
}

void PartialFile::become_new(const std::string& path) {
    if (link(name_.c_str(), path.c_str()) == 0) {
        return;  // the other name goes with this object
    }
    if (errno == EEXIST) {
        fail(path, "not overwritten", EEXIST);
    }
    // some filesystems have no hard links
    if (renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) !=
        0) {
        fail(path, "cannot be written", errno);
    }
    name_.clear();
}

void PartialFile::replace(const std::string& path) {
    if (rename(name_.c_str(), path.c_str()) != 0) {
        fail(path, "cannot be replaced", errno);
    }
    name_.clear();
}

}  // namespace metatrain_timing::analyzer
