#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace metatrain_timing::analyzer {

/// Runs `work` on another thread. Where none can be had (a limit of processes) it does
/// nothing: whoever calls this shares the work and does all of it then.
template <typename Work>
std::jthread try_thread(Work work) {
    try {
        return std::jthread(std::move(work));
    } catch (const std::system_error&) {
        return {};
    }
}

}  // namespace metatrain_timing::analyzer
