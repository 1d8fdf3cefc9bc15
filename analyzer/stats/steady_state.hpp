#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace metatrain_timing::analyzer {

/// Where a series settles.
struct SteadyState {
    std::size_t from = 0;  // index of the first value of the steady part
    bool settled = true;   // false: no steady part was found, and `from` is 0
};

/// Cuts the warm-up off a series of durations by MSER-5: the cut d, in batches of five
/// values, that minimises sum((z_i - mean)^2, i >= d) / (m - d)^2 over the batches z, d
/// at most half of them. z is the median of its batch, where White takes the mean, so
/// that a lone spike is no warm-up. A minimum at the last allowed cut of a long series
/// means that it never settled. Series under 20 values are too short to tell: nothing
/// is cut. Nor is what differs from the rest by less than 5 % on average: clocks that
/// change their speed by some percent for a while are no warm-up, and to cut what is
/// slow leaves runs that look faster than they are and more certain (false verdicts of
/// a diff: 3.0 % instead of 1.1 %).
///
/// Source: White, Simulation 69 (1997) 323; Franklin & White, WSC 2008. O(n).
SteadyState find_steady_state(std::span<const std::int64_t> series);

}  // namespace metatrain_timing::analyzer
