#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace metatrain_timing::analyzer {

/// Values as one line of bars from the least to the greatest; means of neighbours where
/// there are more than `width`; digits 0 to 7 where the terminal has no UTF-8. All the
/// same: bars of half height.
std::string sparkline(std::span<const double> values, std::size_t width, bool utf8);

}  // namespace metatrain_timing::analyzer
