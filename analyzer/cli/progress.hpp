#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>

namespace metatrain_timing::analyzer {

/// One line on stderr that tells how far a command is, where stderr is a terminal and
/// it takes longer than a second; gone at the end.
class Progress {
  public:
    /// `what` is done: "reading runs".
    Progress(std::ostream& err, std::string what);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// One thread at a time.
    void update(std::size_t done, std::size_t total);

  private:
    using Clock = std::chrono::steady_clock;

    std::ostream& err_;
    std::string what_;
    bool is_terminal_;
    Clock::time_point next_;
    std::size_t width_ = 0;  // of what is shown
};

}  // namespace metatrain_timing::analyzer
