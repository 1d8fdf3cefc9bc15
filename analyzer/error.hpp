#pragma once

#include <stdexcept>
#include <string>

namespace metatrain_timing::analyzer {

/// What a failure means to the caller; the value is the exit code of mt-analyze.
enum class ErrorCode : int {
    failed = 1,          // nothing readable, no steps, a newer schema, no such file
    usage = 2,           // the command line or an option is wrong
    gate_failed = 3,     // a gate was asked for and did not hold
    gate_undecided = 4,  // a gate was asked for and the data cannot tell
};

/// The one exception of the analyzer, thrown where files are read (load/) and where
/// what somebody asked for is looked up: options, questions, phases.
///
/// The message is one line "<where>: <what>; <what to do>" without a program name. It
/// may quote names from files: whoever shows it escapes it with `printable()`.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message, ErrorCode code = ErrorCode::failed)
        : std::runtime_error(message), code_(code) {}

    ErrorCode code() const noexcept { return code_; }

  private:
    ErrorCode code_;
};

}  // namespace metatrain_timing::analyzer
