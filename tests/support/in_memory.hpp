#pragma once

#include <unistd.h>

#include <cstdlib>

namespace metatrain_timing::test {

/// Base of what has a TempFolder: the folder is of memory, where that is there. A
/// process that is killed does not mind, and syncs cost no time.
struct InMemory {
    InMemory() {
        if (access("/dev/shm", W_OK) == 0) {
            setenv("TMPDIR", "/dev/shm", 1);
        }
    }
    ~InMemory() { unsetenv("TMPDIR"); }
    InMemory(const InMemory&) = delete;
    InMemory& operator=(const InMemory&) = delete;
};

}  // namespace metatrain_timing::test
