#include "analyzer/analysis/metric.hpp"

namespace metatrain_timing::analyzer {

std::string_view to_string(Change change) {
    switch (change) {
        case Change::regressed:
            return "regressed";
        case Change::improved:
            return "improved";
        case Change::same:
            return "same";
        case Change::inconclusive:
            return "inconclusive";
        case Change::not_comparable:
            return "not comparable";
        case Change::added:
            return "new";
        case Change::removed:
            return "gone";
    }
    return "inconclusive";
}

std::string Metric::stage() const {
    std::string joined;
    for (const std::string& part : path) {
        joined += (joined.empty() ? "" : "/") + part;
    }
    return joined;
}

}  // namespace metatrain_timing::analyzer
