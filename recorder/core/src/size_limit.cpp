#include "recorder/core/src/size_limit.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/folder_entries.hpp"

namespace metatrain_timing::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLookPeriodNs = 1'000'000'000;
// Thinning begins a little early, as records go on coming while it works.
constexpr double kEarly = 0.95;
// A file with more free pages than that has room without growing.
constexpr double kFull = 0.97;
// Of the limit: more than a file grows by while room is made in it.
constexpr double kGrowth = 0.02;

struct Unit {
    std::string_view name;
    double bytes;
};
constexpr std::array<Unit, 14> kUnits{{{"", 1},
                                       {"b", 1},
                                       {"k", 1024.0},
                                       {"kb", 1e3},
                                       {"kib", 1024.0},
                                       {"m", 1024.0 * 1024},
                                       {"mb", 1e6},
                                       {"mib", 1024.0 * 1024},
                                       {"g", 1024.0 * 1024 * 1024},
                                       {"gb", 1e9},
                                       {"gib", 1024.0 * 1024 * 1024},
                                       {"t", 1024.0 * 1024 * 1024 * 1024},
                                       {"tb", 1e12},
                                       {"tib", 1024.0 * 1024 * 1024 * 1024}}};

std::int64_t size_of(const fs::path& path) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    return error ? 0 : static_cast<std::int64_t>(size);
}

}  // namespace

std::optional<std::int64_t> parse_size(std::string_view text) {
    std::string plain;
    for (const char letter : text) {
        if (letter != ' ') {
            plain += static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32
                                                                      : letter);
        }
    }
    double value = 0;
    const char* const end = plain.data() + plain.size();
    const auto [rest, error] = std::from_chars(plain.data(), end, value);
    const std::string_view name(rest, static_cast<std::size_t>(end - rest));
    const auto* const unit =
        std::find_if(kUnits.begin(), kUnits.end(),
                     [&](const Unit& known) { return known.name == name; });
    if (error != std::errc() || unit == kUnits.end() || !std::isfinite(value)) {
        return std::nullopt;
    }
    const double bytes = value * unit->bytes;
    if (bytes < 0 || bytes > 9e18) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(bytes);
}

FilesOnDisk measure_files(const fs::path& database) noexcept {
    FilesOnDisk found;
    try {
        if (const std::int64_t bytes = size_of(database); bytes > 0) {
            found = {bytes, 1};
        }
        const fs::path folder = database.string() + ".d";
        for (const std::string& name : folder_entries(folder)) {
            if (name.ends_with(".db")) {
                found.bytes += size_of(folder / name);
                ++found.count;
            }
        }
    } catch (...) {
        // out of memory
    }
    return found;
}

bool SizeLimit::has_grown(std::int64_t own_bytes) const noexcept {
    return own_bytes - own_when_looked_ >= limit_bytes_ / 100;
}

bool SizeLimit::is_reached(std::int64_t own_bytes, std::int64_t used_bytes,
                           bool gives_way) noexcept {
    const auto limit = static_cast<double>(limit_bytes_);
    if (gives_way &&
        static_cast<double>(own_bytes - own_when_reached_) < kGrowth * limit) {
        return false;
    }
    const std::int64_t now = monotonic_ns();
    if (now >= next_look_ns_ || has_grown(own_bytes)) {
        seen_ = measure_files(database_);
        own_when_looked_ = own_bytes;
        own_when_seen_ = std::min(own_bytes, seen_.bytes);
        next_look_ns_ = now + kLookPeriodNs;
    }
    const std::int64_t all_bytes = seen_.bytes - own_when_seen_ + own_bytes;
    const auto run_bytes = static_cast<double>(all_bytes - before_bytes_);
    const bool has_no_room =
        static_cast<double>(used_bytes) > kFull * static_cast<double>(own_bytes);
    const bool reached =
        run_bytes >= kEarly * limit && has_no_room &&
        2 * own_bytes * std::max<std::int64_t>(seen_.count, 1) >= all_bytes;
    if (reached) {
        own_when_reached_ = own_bytes;
    }
    return reached;
}

}  // namespace metatrain_timing::detail
