#include "analyzer/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <ostream>
#include <utility>

namespace metatrain_timing::analyzer {
namespace {

constexpr std::chrono::milliseconds kFirst{1000};
constexpr std::chrono::milliseconds kPeriod{200};

}  // namespace

Progress::Progress(std::ostream& err, std::string what)
    : err_(err),
      what_(std::move(what)),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + kFirst) {
}

Progress::~Progress() {
    if (width_ > 0) {
        err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
    }
}

void Progress::update(std::size_t done, std::size_t total) {
    const auto now = Clock::now();
    if (!is_terminal_ || now < next_) {
        return;
    }
    next_ = now + kPeriod;
    const std::string line = fmt::format("{}: {} of {}", what_, done, total);
    width_ = line.size();  // it never gets shorter
    err_ << '\r' << line << std::flush;
}

}  // namespace metatrain_timing::analyzer
