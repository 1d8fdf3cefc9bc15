#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace metatrain_timing::analyzer {

/// How values move with their order.
struct Trend {
    double per_run = 0;  // Theil and Sen: the median slope of all pairs
    double p = 1;        // of Spearman's rank correlation with the order
};

/// Nothing for fewer than eight values. Values that depend on those before count for
/// fewer ones (lag-1 autocorrelation of what the trend leaves).
///
/// Source: Sen, J. Am. Stat. Assoc. 63 (1968) 1379; O(n^2).
std::optional<Trend> find_trend(std::span<const double> values);

/// Runs of two settings that were made one block after the other: a drift during all of
/// them can be taken for what the setting does.
struct OrderEffect {
    std::string before;  // value of the setting in the earlier block
    std::string after;
    std::size_t at = 0;      // index of the first run of the later block
    double difference = 0;   // of the means of both blocks
    double by_drift = 0;     // what of it the drift within the blocks would make
    double correlation = 0;  // Spearman's, of both blocks with the order
};

/// Neighbouring blocks, of two runs or more each, whose difference is `least` or more
/// and half of which the common slope within the blocks would make, where nothing is
/// sure that is left without it (95 %, analysis of covariance). `settings` has the
/// value of one setting in each run; nothing where runs of a value are no block.
///
/// Source: Snedecor and Cochran, Statistical Methods, 8th edition, 1989, chapter 18.
std::vector<OrderEffect> find_order_effects(std::span<const double> values,
                                            std::span<const std::string> settings,
                                            double least);

}  // namespace metatrain_timing::analyzer
