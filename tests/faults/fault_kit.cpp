#include "fault_kit.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

// No allocation in here: malloc is one of the calls.
namespace {

enum class What { fail, sleep, cut, kill };

struct Rule {
    std::array<char, 16> call{};
    std::array<char, 64> where{};
    unsigned first = 0;
    bool and_all_after = false;
    What what = What::fail;
    int number = 0;  // error or seconds
    std::atomic<unsigned> seen = 0;
};

constexpr int kMaxRules = 8;
std::array<Rule, kMaxRules> rules;
std::atomic<int> rule_count = 0;
std::atomic<unsigned> met_count = 0;

// Nothing but what tests ask for.
int error_of(const char* name) {
    constexpr std::array<std::pair<const char*, int>, 17> kErrors = {{
        {"EACCES", EACCES},
        {"EAGAIN", EAGAIN},
        {"EDQUOT", EDQUOT},
        {"EINTR", EINTR},
        {"EINVAL", EINVAL},
        {"EIO", EIO},
        {"EMFILE", EMFILE},
        {"ENODEV", ENODEV},
        {"ENOLCK", ENOLCK},
        {"ENOMEM", ENOMEM},
        {"ENOSPC", ENOSPC},
        {"ENOSYS", ENOSYS},
        {"EOPNOTSUPP", EOPNOTSUPP},
        {"EPERM", EPERM},
        {"EROFS", EROFS},
        {"ESTALE", ESTALE},
        {"ENOENT", ENOENT},
    }};
    for (const auto& [known, number] : kErrors) {
        if (std::strcmp(name, known) == 0) {
            return number;
        }
    }
    return static_cast<int>(std::strtol(name, nullptr, 10));
}

[[noreturn]] void refuse(const char* text) {
    std::fprintf(stderr, "fault kit: no rule: %s\n", text);
    _exit(111);
}

void add_rule(const char* text) {
    const int index = rule_count.load();
    if (index == kMaxRules) {
        refuse(text);
    }
    Rule& rule = rules[static_cast<std::size_t>(index)];
    std::array<char, 16> which{};
    std::array<char, 16> what{};
    rule.where[0] = '\0';
    if (std::sscanf(text, "%15[a-z_]:%15[0-9+]:%15s", rule.call.data(), which.data(),
                    what.data()) != 3 &&
        std::sscanf(text, "%15[a-z_]@%63[^:]:%15[0-9+]:%15s", rule.call.data(),
                    rule.where.data(), which.data(), what.data()) != 4) {
        refuse(text);
    }
    rule.first = static_cast<unsigned>(std::strtoul(which.data(), nullptr, 10));
    rule.and_all_after = std::strchr(which.data(), '+') != nullptr;
    rule.number = 0;
    rule.seen.store(0);
    if (std::strcmp(what.data(), "kill") == 0) {
        rule.what = What::kill;
    } else if (std::strcmp(what.data(), "short") == 0) {
        rule.what = What::cut;
    } else if (std::sscanf(what.data(), "sleep=%d", &rule.number) == 1) {
        rule.what = What::sleep;
    } else {
        rule.what = What::fail;
        rule.number = error_of(what.data());
    }
    if (rule.first == 0 || (rule.what == What::fail && rule.number == 0)) {
        refuse(text);
    }
    rule_count.store(index + 1);
}

struct FromEnvironment {
    FromEnvironment() {
        if (const char* const text = std::getenv("MT_FAULTS")) {
            mt_set_faults(text);
        }
    }
};
const FromEnvironment from_environment;

void sleep_for(int seconds) {
    timespec left{};
    left.tv_sec = seconds;
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/// What becomes of one call.
struct Fate {
    int error = 0;  // 0: it is made
    bool is_cut = false;
};

// `describe(text, size)` writes the path of the file, or the name of the thread.
template <typename Describe>
Fate fate_of(const char* call, Describe describe) {
    const int before = errno;
    Fate fate;
    for (int index = 0; index < rule_count.load(std::memory_order_relaxed); ++index) {
        Rule& rule = rules[static_cast<std::size_t>(index)];
        if (std::strcmp(rule.call.data(), call) != 0) {
            continue;
        }
        if (rule.where[0] != '\0') {
            std::array<char, 4096> subject{};
            describe(subject.data(), subject.size() - 1);
            if (std::strstr(subject.data(), rule.where.data()) == nullptr) {
                continue;
            }
        }
        const unsigned seen = ++rule.seen;
        if (seen != rule.first && !(rule.and_all_after && seen > rule.first)) {
            continue;
        }
        ++met_count;
        switch (rule.what) {
            case What::kill:
                kill(getpid(), SIGKILL);
                break;
            case What::sleep:
                sleep_for(rule.number);
                break;
            case What::cut:
                fate.is_cut = true;
                break;
            case What::fail:
                fate.error = rule.number;
                break;
        }
    }
    errno = fate.error != 0 ? fate.error : before;
    return fate;
}

Fate fate_of_path(const char* call, const char* path) {
    return fate_of(
        call, [path](char* text, std::size_t size) { std::strncpy(text, path, size); });
}

Fate fate_of_file(const char* call, int descriptor) {
    return fate_of(call, [descriptor](char* text, std::size_t size) {
        std::array<char, 40> link{};
        std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
        const ssize_t length = readlink(link.data(), text, size);
        text[length < 0 ? 0 : length] = '\0';
    });
}

Fate fate_of_thread(const char* call) {
    return fate_of(call, [](char* text, std::size_t size) {
        pthread_getname_np(pthread_self(), text, size);
    });
}

template <typename Function>
Function* original(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool has_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int open_or_fail(const char* name, const char* path, int flags, unsigned mode) {
    if (fate_of_path("open", path).error != 0) {
        return -1;
    }
    return original<int(const char*, int, ...)>(name)(path, flags, mode);
}

int openat_or_fail(const char* name, int folder, const char* path, int flags,
                   unsigned mode) {
    if (fate_of_path("open", path).error != 0) {
        return -1;
    }
    return original<int(int, const char*, int, ...)>(name)(folder, path, flags, mode);
}

ssize_t pwrite_or_fail(const char* name, int descriptor, const void* data,
                       std::size_t size, off64_t offset) {
    const Fate fate = fate_of_file("write", descriptor);
    if (fate.error != 0) {
        return -1;
    }
    const std::size_t part = fate.is_cut ? (size + 1) / 2 : size;
    return original<ssize_t(int, const void*, std::size_t, off64_t)>(name)(
        descriptor, data, part, offset);
}

int sync_or_fail(const char* name, int descriptor) {
    return fate_of_file("fsync", descriptor).error != 0
               ? -1
               : original<int(int)>(name)(descriptor);
}

bool is_lock(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK;
}

int fcntl_or_fail(const char* name, int descriptor, int command, void* argument) {
    if (is_lock(command) && fate_of_file("fcntl", descriptor).error != 0) {
        return -1;
    }
    return original<int(int, int, ...)>(name)(descriptor, command, argument);
}

void* mmap_or_fail(const char* name, void* address, std::size_t size, int protection,
                   int flags, int descriptor, off64_t offset) {
    if (fate_of_file("mmap", descriptor).error != 0) {
        return MAP_FAILED;
    }
    return original<void*(void*, std::size_t, int, int, int, off64_t)>(name)(
        address, size, protection, flags, descriptor, offset);
}

}  // namespace

extern "C" {

void mt_set_faults(const char* text) {
    rule_count.store(0);
    met_count.store(0);
    std::array<char, 1024> copy{};
    if (std::strlen(text) >= copy.size()) {
        refuse(text);
    }
    std::strncpy(copy.data(), text, copy.size() - 1);
    char* rest = nullptr;
    for (char* rule = strtok_r(copy.data(), " ", &rest); rule != nullptr;
         rule = strtok_r(nullptr, " ", &rest)) {
        add_rule(rule);
    }
}

unsigned mt_faults_met() {
    return met_count.load();
}

// From here on the names are those of the C library.

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = has_mode(flags) ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return open_or_fail("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = has_mode(flags) ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return open_or_fail("open64", path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = has_mode(flags) ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return openat_or_fail("openat", folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = has_mode(flags) ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return openat_or_fail("openat64", folder, path, flags, mode);
}

ssize_t write(int descriptor, const void* data, std::size_t size) {
    // Not the standard streams: by them a test says what went wrong.
    const Fate fate =
        descriptor > STDERR_FILENO ? fate_of_file("write", descriptor) : Fate{};
    if (fate.error != 0) {
        return -1;
    }
    const std::size_t part = fate.is_cut ? (size + 1) / 2 : size;
    return original<ssize_t(int, const void*, std::size_t)>("write")(descriptor, data,
                                                                     part);
}

ssize_t pwrite(int descriptor, const void* data, std::size_t size, off_t offset) {
    return pwrite_or_fail("pwrite", descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void* data, std::size_t size, off64_t offset) {
    return pwrite_or_fail("pwrite64", descriptor, data, size, offset);
}

int fsync(int descriptor) {
    return sync_or_fail("fsync", descriptor);
}

int fdatasync(int descriptor) {
    return sync_or_fail("fdatasync", descriptor);
}

int fcntl(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    return fcntl_or_fail("fcntl", descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    return fcntl_or_fail("fcntl64", descriptor, command, argument);
}

void* mmap(void* address, std::size_t size, int protection, int flags, int descriptor,
           off_t offset) noexcept {
    return mmap_or_fail("mmap", address, size, protection, flags, descriptor, offset);
}

void* mmap64(void* address, std::size_t size, int protection, int flags, int descriptor,
             off64_t offset) noexcept {
    return mmap_or_fail("mmap64", address, size, protection, flags, descriptor, offset);
}

int fallocate(int descriptor, int mode, off_t offset, off_t size) {
    return fate_of_file("fallocate", descriptor).error != 0
               ? -1
               : original<int(int, int, off_t, off_t)>("fallocate")(descriptor, mode,
                                                                    offset, size);
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t size) {
    return fate_of_file("fallocate", descriptor).error != 0
               ? -1
               : original<int(int, int, off64_t, off64_t)>("fallocate64")(
                     descriptor, mode, offset, size);
}

int posix_fallocate(int descriptor, off_t offset, off_t size) {
    const Fate fate = fate_of_file("fallocate", descriptor);
    return fate.error != 0 ? fate.error
                           : original<int(int, off_t, off_t)>("posix_fallocate")(
                                 descriptor, offset, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*start)(void*), void* argument) noexcept {
    const Fate fate = fate_of_thread("pthread_create");
    return fate.error != 0 ? fate.error
                           : original<int(pthread_t*, const pthread_attr_t*,
                                          void* (*)(void*), void*)>("pthread_create")(
                                 thread, attributes, start, argument);
}

// dlsym() itself allocates.
void* __libc_malloc(std::size_t size);                     // NOLINT(*-reserved-*)
void* __libc_calloc(std::size_t count, std::size_t size);  // NOLINT(*-reserved-*)
void* __libc_realloc(void* memory, std::size_t size);      // NOLINT(*-reserved-*)

void* malloc(std::size_t size) noexcept {
    return fate_of_thread("malloc").error != 0 ? nullptr : __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
    return fate_of_thread("malloc").error != 0 ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) noexcept {
    return fate_of_thread("malloc").error != 0 ? nullptr : __libc_realloc(memory, size);
}

}  // extern "C"
