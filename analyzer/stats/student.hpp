#pragma once

#include <cstddef>
#include <span>

namespace metatrain_timing::analyzer {

/// A variance that was estimated with some degrees of freedom.
struct VarianceTerm {
    double variance = 0;
    double df = 0;  // infinity: known
};

/// Sum of independent estimates. The degrees of freedom are those of Welch and
/// Satterthwaite (Welch, Biometrika 34 (1947) 28).
VarianceTerm add_terms(std::span<const VarianceTerm> terms);

/// Half the width of the interval that holds the difference with this probability.
/// Finite for every `error` with df > 0.
double half_width(const VarianceTerm& error, double confidence);

/// Probability of a difference at least as large where there is none: 1 for a
/// difference of 0, 0 for another one without any error.
double two_sided_p(double difference, const VarianceTerm& error);

}  // namespace metatrain_timing::analyzer
