#pragma once

#include <string>

namespace metatrain_timing::analyzer {

/// The ownership of a run file, as a recorder has it while it writes: an fcntl lock on
/// `<path>.lock`. Let go, and that file removed, at the end of the object's life.
class WriteLock {
  public:
    /// Throws Error where a process is recording into `path` or locks do not work.
    explicit WriteLock(const std::string& path);
    ~WriteLock();
    WriteLock(WriteLock&& other) noexcept;
    WriteLock& operator=(WriteLock&&) = delete;

  private:
    std::string lock_path_;
    int descriptor_ = -1;
};

}  // namespace metatrain_timing::analyzer
