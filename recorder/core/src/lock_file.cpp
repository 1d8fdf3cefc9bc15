#include "recorder/core/src/lock_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "recorder/core/src/descriptors.hpp"
#include "recorder/core/src/held_files.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr int kMaxTries =
    100;  // each lost to a process that removed the file meanwhile

// Of this process, so that none is opened a second time.
constinit HeldFiles held_files;

void write_text(int descriptor, const std::string& text) noexcept {
    if (ftruncate(descriptor, 0) == 0) {
        const auto written = pwrite(descriptor, text.data(), text.size(), 0);
        static_cast<void>(written);  // for people only
    }
}

}  // namespace

bool LockFile::is_held(const std::filesystem::path& path) noexcept {
    return held_files.contains(path);
}

LockFile::Attempt LockFile::open(const std::filesystem::path& path, int flags,
                                 mode_t mode) {
    if (is_held(path)) {
        return {Outcome::taken, std::nullopt};
    }
    const int descriptor = open_above_streams(path.c_str(), flags, mode);
    if (descriptor < 0) {
        return {Outcome::unwritable, std::nullopt};
    }
    LockFile lock(path, {descriptor, identity_of(descriptor).value_or(FileIdentity{})});
    if (!lock_whole_file(descriptor)) {
        const bool taken = errno == EACCES || errno == EAGAIN;
        return {taken ? Outcome::taken : Outcome::unsupported, std::nullopt};
    }
    if (!names_the_same_file(path.c_str(), descriptor)) {
        return {Outcome::replaced, std::nullopt};
    }
    held_files.add(lock.opened_.file);
    return {Outcome::locked, std::move(lock)};
}

LockFile::Attempt LockFile::acquire(const std::filesystem::path& path,
                                    const std::string& text) {
    for (int attempt = 0; attempt < kMaxTries; ++attempt) {
        auto [outcome, lock] = open(path, O_RDWR | O_CREAT, 0666);
        if (outcome == Outcome::replaced) {
            continue;
        }
        if (lock) {
            write_text(lock->descriptor(), text);
        }
        return {outcome, std::move(lock)};
    }
    return {Outcome::taken, std::nullopt};
}

LockFile::LockFile(LockFile&& other) noexcept
    : path_(std::move(other.path_)), opened_(std::exchange(other.opened_, {})) {
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(opened_, other.opened_);
    return *this;
}

LockFile::~LockFile() {
    let_go();
}

void LockFile::let_go() noexcept {
    held_files.remove(opened_.file);
    if (opened_.is_still_open()) {
        close(opened_.descriptor);
    }
    opened_ = {};
}

void LockFile::remove() noexcept {
    if (opened_.is_still_open() &&
        names_the_same_file(path_.c_str(), opened_.descriptor)) {
        unlink(path_.c_str());
    }
    let_go();
}

}  // namespace metatrain_timing::detail
