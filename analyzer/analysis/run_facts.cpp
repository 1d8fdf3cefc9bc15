#include "analyzer/analysis/run_facts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace metatrain_timing::analyzer {
namespace {

FactKind kind_of(std::string_view key) {
    constexpr std::array kWorkload = {
        "cpu.model",
        "gpu.name",
        "metatrain.architecture.name",
        "metatrain.base_precision",
        "metatrain.device",
        "ranks",
    };
    constexpr std::array kSize = {"loader.batch_size", "metatrain.batch_size",
                                  "turns_per_step"};
    if (std::find(kWorkload.begin(), kWorkload.end(), key) != kWorkload.end()) {
        return FactKind::workload;
    }
    return std::find(kSize.begin(), kSize.end(), key) != kSize.end()
               ? FactKind::size
               : FactKind::setting;
}

// Facts that say which run it is, or how it was recorded.
bool is_of_no_matter(std::string_view key) {
    constexpr std::array kNames = {
        "clock.source",      "env.LOCAL_RANK",
        "env.LSB_JOBID",     "env.OMPI_COMM_WORLD_RANK",
        "env.PBS_JOBID",     "env.PMI_RANK",
        "env.RANK",          "env.SLURM_ARRAY_JOB_ID",
        "env.SLURM_JOB_ID",  "env.SLURM_ARRAY_TASK_ID",
        "env.SLURM_PROCID",  "env.SLURM_JOB_NODELIST",
        "env.SLURM_STEP_ID", "env.SLURM_RESTART_COUNT",
        "exit.exception",    "env.TORCHELASTIC_RESTART_COUNT",
        "recorder.version",  "env.TORCHELASTIC_RUN_ID",
        "sqlite.version",    "thinning.keeps_one_in",
    };
    return std::find(kNames.begin(), kNames.end(), key) != kNames.end();
}

std::string_view text(bool value) {
    return value ? "true" : "false";
}

// Values of loaders that a group zips or mixes, each once.
class LoaderFacts {
  public:
    void add(const Loader& loader) {
        const bool works = loader.num_workers > 0;
        put("loader.num_workers", std::to_string(loader.num_workers));
        put("loader.batch_size",
            loader.batch_size ? std::to_string(*loader.batch_size) : "");
        put("loader.dataset", loader.dataset_class);
        put("loader.sampler", loader.sampler_class);
        put("loader.pin_memory", text(loader.pin_memory));
        put("loader.in_order", works ? text(loader.in_order) : std::string_view());
        put("loader.persistent_workers",
            works ? text(loader.persistent_workers) : std::string_view());
        put("loader.prefetch_factor", works && loader.prefetch_factor
                                          ? std::to_string(*loader.prefetch_factor)
                                          : "");
        put("loader.start_method", loader.start_method);
    }

    void append_to(std::map<std::string, std::string>& facts) const {
        for (const auto& [key, values] : values_) {
            std::string& all = facts[key];
            for (const std::string& value : values) {
                all += (all.empty() ? "" : ", ") + value;
            }
        }
    }

  private:
    void put(const char* key, std::string_view value) {
        if (!value.empty()) {
            values_[key].emplace(value);
        }
    }

    std::map<std::string, std::set<std::string>> values_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> environment_of(const Run& run) {
    for (const Process& process : run.processes) {
        if (process.role == Role::main && !process.environment.empty()) {
            return process.environment;
        }
    }
    return {};
}

std::vector<RunFact> run_facts(const Findings& findings, std::size_t number) {
    const Run& run = findings.run();
    const PhaseGroup& group = findings.groups().groups[number];
    std::map<std::string, std::string> facts;
    for (const auto& [key, value] : environment_of(run)) {
        if (!is_of_no_matter(key)) {
            facts[key] = value;
        }
    }
    LoaderFacts loaders;
    for (const std::int32_t loader : group.loaders) {
        loaders.add(run.loaders[static_cast<std::size_t>(loader)]);
    }
    loaders.append_to(facts);

    const StepSeries& series = findings.series()[number];
    if (series.steps > 0) {
        facts["turns_per_step"] =
            std::to_string((series.micro_steps + series.steps / 2) / series.steps);
    }
    facts["command"] = run.command;
    facts["ranks"] = std::to_string(count_ranks(run, findings.passes(), group));
    facts["epochs"] = std::to_string(series.epochs);
    facts["host"] = run.host;
    std::vector<RunFact> result;
    for (const auto& [key, value] : facts) {
        result.push_back({key, value, kind_of(key)});
    }
    return result;
}

std::int64_t count_same(const std::vector<RunFact>& before,
                        const std::vector<RunFact>& after) {
    std::map<std::string, std::string> values;
    for (const RunFact& fact : before) {
        values[fact.key] = fact.value;
    }
    return std::count_if(after.begin(), after.end(), [&](const RunFact& fact) {
        const auto other = values.find(fact.key);
        return other != values.end() && other->second == fact.value;
    });
}

std::vector<ChangedFact> changed_facts(const std::vector<RunFact>& before,
                                       const std::vector<RunFact>& after) {
    std::map<std::string, ChangedFact> all;
    for (const RunFact& fact : before) {
        all[fact.key] = {fact.key, fact.value, "", fact.kind};
    }
    for (const RunFact& fact : after) {
        ChangedFact& changed = all[fact.key];
        changed.key = fact.key;
        changed.after = fact.value;
        changed.kind = fact.kind;
    }
    std::vector<ChangedFact> result;
    for (auto& [key, fact] : all) {
        if (fact.before != fact.after) {
            result.push_back(std::move(fact));
        }
    }
    return result;
}

}  // namespace metatrain_timing::analyzer
