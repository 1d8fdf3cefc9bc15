#pragma once

#include <span>
#include <vector>

namespace metatrain_timing::analyzer {

/// Which of many differences to believe, so that of those believed at most this part is
/// none in the long run. In the order of `p_values`.
///
/// Source: Benjamini & Hochberg, J. R. Stat. Soc. B 57 (1995) 289. O(n log n).
std::vector<bool> believe(std::span<const double> p_values, double false_part);

}  // namespace metatrain_timing::analyzer
