#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace metatrain_timing::test {

/// ThreadSanitizer follows no fork of a process with threads: its child may start none.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kForksWithThreads = false;
#else
inline constexpr bool kForksWithThreads = true;
#endif

/// What became of a child process.
struct ChildResult {
    int exit_code = -1;  // 128 + signal if one ended it
    std::string errors;  // what it printed on stderr
};

inline int exit_code_of(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Starts `body` in a forked child and returns at once. The child ends by _exit, as
/// those of Python's multiprocessing do; with 1 if one of its expectations failed.
inline pid_t fork_child(const std::function<void()>& body) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        body();
        std::fflush(nullptr);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    return pid;
}

/// Runs `body` in a forked child and waits for it.
inline ChildResult in_child(const std::function<void()>& body) {
    std::array<int, 2> pipe_ends{};
    if (pipe(pipe_ends.data()) != 0) {
        return {};
    }
    const pid_t pid = fork_child([&] {
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        body();
    });
    close(pipe_ends[1]);
    ChildResult result;
    std::array<char, 4096> buffer{};
    ssize_t length = 0;
    while ((length = read(pipe_ends[0], buffer.data(), buffer.size())) > 0) {
        result.errors.append(buffer.data(), static_cast<std::size_t>(length));
    }
    close(pipe_ends[0]);
    result.exit_code = exit_code_of(pid);
    return result;
}

}  // namespace metatrain_timing::test
