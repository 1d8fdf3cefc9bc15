#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace metatrain_timing::detail {

/// The one line that a run may print on stderr.
///
/// Forked processes share the memory of "it was printed"; processes started by exec
/// learn it from the environment variable METATRAIN_TIMING_WARNED, which holds the
/// run's uuid.
class Complaints {
  public:
    static constexpr const char* kVariable = "METATRAIN_TIMING_WARNED";

    Complaints() noexcept;

    /// Prints "metatrain-timing: <text>", unless this run has said something before or
    /// this process is not the one to speak.
    void say(std::string_view text) noexcept;

    /// Never print in this process; another one of the run sees the same trouble.
    void be_quiet(bool quiet) noexcept { quiet_ = quiet; }

    bool said() const noexcept { return said_->load(std::memory_order_relaxed); }
    void mark_said() noexcept { said_->store(true, std::memory_order_relaxed); }

  private:
    std::atomic<bool>* said_;
    std::atomic<bool> unshared_{false};  // where there is no shared memory
    std::atomic<bool> quiet_{false};
};

}  // namespace metatrain_timing::detail
