#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {

/// How a program ended and what it wrote.
struct Outcome {
    int exit_code = -1;  // 128 + signal where a signal ended it
    std::string out;
    std::string err;
};

/// What a test sets for the program beside its arguments.
struct Setting {
    std::string input = "";
    std::vector<std::pair<std::string, std::string>> environment = {};
    std::string out_path = "";  // where standard output goes instead
};

/// Runs mt-analyze with these arguments, in a UTF-8 locale of 80 columns.
inline Outcome mt_analyze(std::vector<std::string> arguments,
                          const Setting& setting = {}) {
    const TempFolder folder;
    std::ofstream(folder / "in") << setting.input;
    const std::string out =
        setting.out_path.empty() ? (folder / "out").string() : setting.out_path;
    const std::string err = folder / "err";
    arguments.insert(arguments.begin(), MT_ANALYZE);
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);

    const pid_t child = fork();
    if (child == 0) {
        dup2(open((folder / "in").c_str(), O_RDONLY), STDIN_FILENO);
        dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
        dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("COLUMNS", "80", 1);
        setenv("TZ", "UTC", 1);
        for (const auto& [name, value] : setting.environment) {
            setenv(name.c_str(), value.c_str(), 1);
        }
        execv(argv[0], argv.data());
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    const auto content = [](const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            setting.out_path.empty() ? content(out) : "", content(err)};
}

}  // namespace metatrain_timing::test
