#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "recorder/core/src/launcher.hpp"

namespace metatrain_timing::detail {

/// Which run a process takes part in, and as which rank.
struct RunIdentity {
    std::string uuid;  // empty: not fixed
    std::string job;
    std::int64_t attempt = 1;
    std::int64_t started_unix_ns = 0;
    pid_t fixed_by = 0;                  // the process that fixed it
    std::int64_t size_before_bytes = 0;  // of the files when it did
    Rank rank;
    bool is_rank = false;  // a launcher's variables say so
    std::string launcher;  // empty: none
};

/// The environment variables that carry a run to processes started by exec.
inline constexpr const char* kRunVariable = "METATRAIN_TIMING_RUN";
inline constexpr const char* kParentVariable = "METATRAIN_TIMING_PARENT";

/// The attempt before this one, where a training goes on.
struct PreviousAttempt {
    std::string job;
    std::int64_t attempt = 1;
};

/// The run of METATRAIN_TIMING_RUN if there is one, else that of the launcher's ranks,
/// else `previous` + 1, else a new one. See docs/design.md, "Run identity".
RunIdentity make_identity(const Environment& environment, pid_t pid,
                          const std::optional<PreviousAttempt>& previous);

/// Value of METATRAIN_TIMING_RUN: <uuid>/<attempt>/<job>/<pid that fixed it>/<bytes
/// that the files had then>.
std::string run_variable(const RunIdentity& identity);

/// What METATRAIN_TIMING_PARENT says: the process life nearest above that recorded, and
/// whether it was a rank; a child of one that was none may be a rank itself.
struct ParentLife {
    std::string process_uuid;  // empty: none
    bool was_rank = false;
};

ParentLife parent_life(const Environment& environment);
std::string parent_variable(const ParentLife& life);

}  // namespace metatrain_timing::detail
