#include "analyzer/analysis/metric.hpp"

#include "analyzer/model/stage_path.hpp"

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
    return path_name(path);
}

}  // namespace metatrain_timing::analyzer
