#include "analyzer/stats/student.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace metatrain_timing::analyzer {
namespace {

// Below one the tails are so long that quantiles are of no use, or none.
double usable(double df) {
    return df > 1 ? df : 1.0;  // of nan too
}

}  // namespace

VarianceTerm add_terms(std::span<const VarianceTerm> terms) {
    VarianceTerm sum;
    double weights = 0;
    for (const VarianceTerm& term : terms) {
        sum.variance += term.variance;
        if (term.variance > 0 && std::isfinite(term.df)) {
            weights += term.variance * term.variance / usable(term.df);
        }
    }
    sum.df = weights > 0 ? sum.variance * sum.variance / weights
                         : std::numeric_limits<double>::infinity();
    return sum;
}

double half_width(const VarianceTerm& error, double confidence) {
    if (error.variance <= 0) {
        return 0;
    }
    const boost::math::students_t distribution(usable(error.df));
    return boost::math::quantile(distribution, 0.5 + confidence / 2) *
           std::sqrt(error.variance);
}

double two_sided_p(double difference, const VarianceTerm& error) {
    if (difference == 0) {
        return 1;
    }
    if (error.variance <= 0) {
        return 0;
    }
    const boost::math::students_t distribution(usable(error.df));
    const double t = std::abs(difference) / std::sqrt(error.variance);
    return 2 * boost::math::cdf(boost::math::complement(distribution, t));
}

}  // namespace metatrain_timing::analyzer
