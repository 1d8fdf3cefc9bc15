#include "analyzer/trace/output_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kBufferSize = 1 << 18;
constexpr unsigned kZlibBufferSize = 1 << 17;

}  // namespace

OutputFile::OutputFile(const std::string& path, Compression compression)
    : path_(path), buffer_(kBufferSize) {
    // "T": as it is. Level 1: a trace shrinks to a tenth with it already.
    const char* const mode = compression == Compression::gzip ? "wb1" : "wbT";
    file_ =
        path == "-" ? gzdopen(dup(STDOUT_FILENO), mode) : gzopen(path.c_str(), mode);
    if (file_ == nullptr) {
        fail();
    }
    gzbuffer(file_, kZlibBufferSize);
}

OutputFile::~OutputFile() {
    if (file_ != nullptr) {
        gzclose(file_);
    }
}

void OutputFile::write(std::string_view text) {
    while (!text.empty()) {
        if (used_ == buffer_.size()) {
            hand_over();
        }
        const std::size_t count = std::min(text.size(), buffer_.size() - used_);
        std::copy_n(text.begin(), count,
                    buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
        used_ += count;
        text.remove_prefix(count);
    }
}

void OutputFile::close() {
    hand_over();
    const int result = gzclose(file_);
    file_ = nullptr;
    if (result != Z_OK) {
        fail();
    }
}

void OutputFile::hand_over() {
    if (used_ > 0 &&
        gzwrite(file_, buffer_.data(), static_cast<unsigned>(used_)) <= 0) {
        fail();
    }
    handed_over_ += used_;
    used_ = 0;
}

void OutputFile::fail() const {
    throw Error((path_ == "-" ? "standard output" : path_) + ": cannot be written (" +
                std::generic_category().message(errno) + ")");
}

}  // namespace metatrain_timing::analyzer
