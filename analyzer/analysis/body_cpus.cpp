#include "analyzer/analysis/body_cpus.hpp"

#include <algorithm>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

// CPU time of what the training thread does for a batch while it waits.
double cpu_of_waits(const std::vector<StageRow>& rows) {
    double cpu_ns = 0;
    bool in_loader = false;
    for (const StageRow& row : rows) {
        in_loader = row.level == 0 ? row.stage == "loader" : in_loader;
        if (!in_loader || row.level != 1) {
            continue;
        }
        if (row.stage == "fetch") {
            cpu_ns += static_cast<double>(row.cpu_ns.value_or(0));
        } else if (row.stage == "receive" || row.stage == "put_index" ||
                   row.stage == "sampler" || row.stage == "pin") {
            cpu_ns += static_cast<double>(row.total_ns);
        }
    }
    return cpu_ns;
}

}  // namespace

std::optional<double> measure_body_cpus(const PhaseCpus& cpus, const Breakdown& time) {
    if (!cpus.main_cpus || time.step_ns <= 0) {
        return std::nullopt;
    }
    const double all_ns = *cpus.main_cpus * static_cast<double>(time.wall_ns);
    return std::max(0.0, all_ns - cpu_of_waits(time.main)) /
           static_cast<double>(time.step_ns);
}

}  // namespace metatrain_timing::analyzer
