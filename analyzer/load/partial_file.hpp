#pragma once

#include <string>

namespace metatrain_timing::analyzer {

/// A new, empty file beside `path`, in which a result is made: removed with this object
/// unless it was given its name. All throw Error where that fails.
class PartialFile {
  public:
    explicit PartialFile(const std::string& path);
    ~PartialFile();
    PartialFile(const PartialFile&) = delete;
    PartialFile& operator=(const PartialFile&) = delete;

    const std::string& name() const { return name_; }

    void make_durable() const;
    /// As the new file `path`; nothing is overwritten, whoever makes it meanwhile.
    void become_new(const std::string& path);
    void replace(const std::string& path);

  private:
    std::string name_;
};

}  // namespace metatrain_timing::analyzer
