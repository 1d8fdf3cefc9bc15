#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace metatrain_timing::analyzer {

/// A file that is written from front to back, compressed by gzip or as it is. Also what
/// RapidJSON writes to: an output stream of characters.
class OutputFile {
  public:
    using Ch = char;

    enum class Compression { none, gzip };

    /// Makes `path` anew; "-" is standard output. @throws Error where it cannot be
    /// made.
    OutputFile(const std::string& path, Compression compression);
    /// Closes; what was not handed over by `close()` may be lost.
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void Put(char character) {
        if (used_ == buffer_.size()) {
            hand_over();
        }
        buffer_[used_++] = character;
    }
    void Flush() {}

    void write(std::string_view text);

    /// Writes the rest. @throws Error where it could not be written, as all do.
    void close();

    /// Bytes so far, before compression.
    std::uint64_t size() const { return handed_over_ + used_; }

  private:
    void hand_over();
    [[noreturn]] void fail() const;

    std::string path_;
    gzFile file_ = nullptr;
    std::vector<char> buffer_;
    std::size_t used_ = 0;
    std::uint64_t handed_over_ = 0;
};

}  // namespace metatrain_timing::analyzer
