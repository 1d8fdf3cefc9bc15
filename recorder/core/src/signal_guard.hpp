#pragma once

#include <signal.h>

#include <ctime>

namespace metatrain_timing::detail {

/// Blocks all signals of the calling thread. A SIGXFSZ that arose meanwhile (a write
/// beyond RLIMIT_FSIZE, which is an error to us and would end the program) is taken
/// away.
class SignalGuard {
  public:
    SignalGuard() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalGuard() {
#if defined(__linux__)
        if (sigismember(&before_, SIGXFSZ) == 0) {
            sigset_t file_size;
            sigemptyset(&file_size);
            sigaddset(&file_size, SIGXFSZ);
            const timespec at_once{};
            while (sigtimedwait(&file_size, nullptr, &at_once) == SIGXFSZ) {
            }
        }
#endif
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace metatrain_timing::detail
