#pragma once

#include <sys/types.h>

#include <string>

#include <metatrain_timing/recorder/recorder.hpp>
#include "recorder/core/src/identity.hpp"

namespace metatrain_timing::detail {

/// The rows `run` and `process` of one process life.
struct ProcessRow {
    RunIdentity run;
    std::string command;
    std::string cwd;
    std::string process_uuid;
    std::string parent_uuid;  // empty: none
    ProcessInfo info;
    std::string host;
    std::string boot_id;
    pid_t pid = 0;
};

}  // namespace metatrain_timing::detail
