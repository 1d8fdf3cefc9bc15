#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace metatrain_timing::analyzer {

/// Where the level of a series changes.
struct ChangePoint {
    std::size_t at = 0;  // index of the first value of the new level
    double shift = 0;    // new level less the one before
    double p = 1;        // of the scan that found it
};

/// Seed of the series without a change.
inline constexpr std::uint64_t kNullSeed = 1;

/// What counts as a change of level.
struct LevelChange {
    double least_shift = 0;        // smaller ones are not told
    std::size_t least_values = 3;  // of a level: fewer are outliers
    double alpha = 0.01;           // of the scan of a series without changes
};

/// Finds changes of level by a scan for the greatest t of two parts and, where it is
/// one, in both parts again (binary segmentation); then each point is tested between
/// its neighbours. What t is great is told by 999 series without a change that have the
/// residuals and the AR(1) dependence of this one (a sieve bootstrap with a fixed
/// seed), so that drift and dependence raise no alarm. Values are cut at 8 median
/// absolute deviations of their differences around the median first, so that lone
/// spikes do not count much. Values are the same every time.
///
/// Source: Bühlmann, Bernoulli 3 (1997) 123 for the sieve; Vostrikova, Soviet Math.
/// Dokl. 24 (1981) 55 for the segmentation. O(1000 n) for each change found.
std::vector<ChangePoint> find_change_points(std::span<const double> series,
                                            const LevelChange& change);

}  // namespace metatrain_timing::analyzer
