#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace metatrain_timing::detail {

/// Bytes of a text like "100 MB", "2GiB", "500M" (as MiB) or "1000000"; nothing where
/// it is none.
std::optional<std::int64_t> parse_size(std::string_view text);

/// Bytes of the files of all processes of `database`, older runs included, and how many
/// files there are.
struct FilesOnDisk {
    std::int64_t bytes = 0;
    std::int64_t count = 0;
};
FilesOnDisk measure_files(const std::filesystem::path& database) noexcept;

/// Whether a run has grown to its limit, and this process has to do something about it.
/// Nobody coordinates: each process looks at the sizes of all files, and those that
/// have more than half of a fair share give way.
class SizeLimit {
  public:
    /// `limit_bytes` 0: there is none. `before_bytes`: what was there before the run.
    SizeLimit(std::filesystem::path database, std::int64_t limit_bytes,
              std::int64_t before_bytes)
        : database_(std::move(database)),
          limit_bytes_(limit_bytes),
          before_bytes_(before_bytes) {}

    bool is_set() const noexcept { return limit_bytes_ > 0; }

    /// Whether this process's file has grown by 1 % of the limit since the last look.
    bool has_grown(std::int64_t own_bytes) const noexcept;

    /// Where the limit is set. `own_bytes`: of this process's file now, `used_bytes` of
    /// it hold something. `gives_way`: what was done when it was reached has not made
    /// its room yet; it is reached anew only if the file goes on growing. Others' files
    /// are looked at once a second, and each time that this one has grown by 1 % of the
    /// limit.
    bool is_reached(std::int64_t own_bytes, std::int64_t used_bytes,
                    bool gives_way) noexcept;

  private:
    std::filesystem::path database_;
    std::int64_t limit_bytes_;
    std::int64_t before_bytes_;
    std::int64_t next_look_ns_ = 0;
    FilesOnDisk seen_;
    std::int64_t own_when_looked_ = 0;
    std::int64_t own_when_seen_ = 0;
    std::int64_t own_when_reached_ = 0;
};

}  // namespace metatrain_timing::detail
