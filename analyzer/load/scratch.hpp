#pragma once

#include <filesystem>

namespace metatrain_timing::analyzer {

/// A private folder for temporary files, removed with all it holds.
class ScratchFolder {
  public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
        other.path_.clear();
    }
    ScratchFolder& operator=(ScratchFolder&&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace metatrain_timing::analyzer
