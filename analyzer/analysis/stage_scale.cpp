#include "analyzer/analysis/stage_scale.hpp"

#include <algorithm>
#include <vector>

namespace metatrain_timing::analyzer {
namespace {

struct Part {
    double wall_ns = 0;
    double cpu_ns = 0;

    void add(const StageRow& row) {
        wall_ns += static_cast<double>(row.total_ns);
        cpu_ns += static_cast<double>(row.cpu_ns.value_or(0));
    }
};

// What rows called `stage` have of the subtree of the row called `whole`; the whole
// itself counts as a part. Parts of a part that have its name are in it already.
struct Share {
    double wall = 0;
    double cpu = 0;
    bool is_found = false;
};

Share share_in(const std::vector<StageRow>& rows, std::string_view whole,
               std::string_view stage) {
    Part all;
    Part part;
    Share share;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].stage != whole) {
            continue;
        }
        all.add(rows[i]);
        for (std::size_t k = i;
             k < rows.size() && (k == i || rows[k].level > rows[i].level); ++k) {
            if (rows[k].stage == stage) {
                part.add(rows[k]);
                share.is_found = true;
                const std::size_t level = rows[k].level;
                while (k + 1 < rows.size() && rows[k + 1].level > level) {
                    ++k;
                }
            }
        }
    }
    share.wall = all.wall_ns > 0 ? part.wall_ns / all.wall_ns : 0;
    const bool has_cpu = all.cpu_ns > 0 && part.cpu_ns > 0;
    share.cpu = has_cpu ? part.cpu_ns / all.cpu_ns : share.wall;
    return share;
}

// Of one stage among several: what they save adds up.
void take_off(double& scale, double share, double factor) {
    scale = std::max(0.0, scale - share * (1 - factor));
}

}  // namespace

std::optional<StageScale> find_stage_scale(const Breakdown& time,
                                           const std::map<std::string, double>& factors,
                                           std::string& problem) {
    StageScale scale;
    for (const auto& [stage, factor] : factors) {
        Share fetch = share_in(time.worker, "fetch", stage);
        if (!fetch.is_found) {
            fetch = share_in(time.main, "fetch", stage);
        }
        take_off(scale.fetch, fetch.wall, factor);
        take_off(scale.fetch_cpu, fetch.cpu, factor);
        const Share body = share_in(time.main, "step", stage);
        take_off(scale.body, body.wall, factor);
        take_off(scale.body_cpu, body.cpu, factor);
        struct Whole {
            std::string_view name;
            double* scale;
        };
        bool is_whole = false;
        for (const Whole& whole :
             {Whole{"send", &scale.send}, Whole{"receive", &scale.receive},
              Whole{"pin", &scale.pin}, Whole{"put_index", &scale.put}}) {
            if (whole.name == stage) {
                *whole.scale = factor;
                is_whole = true;
            }
        }
        if (!fetch.is_found && !body.is_found && !is_whole) {
            problem = "no stage of a batch is called '" + stage + "'";
            return std::nullopt;
        }
    }
    return scale;
}

}  // namespace metatrain_timing::analyzer
