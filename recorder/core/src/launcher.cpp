#include "recorder/core/src/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "recorder/core/src/platform.hpp"

namespace metatrain_timing::detail {
namespace {

std::optional<std::int64_t> number_of(const Environment& environment,
                                      const std::string& name) {
    const auto text = environment(name);
    if (!text) {
        return std::nullopt;
    }
    std::int64_t value = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc{} || stop != end || value < 0) {
        return std::nullopt;
    }
    return value;
}

struct RankVariables {
    const char* rank;
    const char* world_size;
    const char* local_rank;
};

constexpr RankVariables kTorch = {"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr RankVariables kSlurm = {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};
constexpr RankVariables kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr RankVariables kPmi = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"};

std::optional<Rank> rank_by(const Environment& environment,
                            const RankVariables& variables) {
    const auto rank = number_of(environment, variables.rank);
    const auto world_size = number_of(environment, variables.world_size);
    if (!rank || !world_size || *rank >= *world_size) {
        return std::nullopt;
    }
    return Rank{*rank, *world_size,
                number_of(environment, variables.local_rank).value_or(*rank)};
}

// The step of srun, not the batch script: that has the job's variables too, and may run
// one training after the other.
std::optional<Rank> slurm_rank(const Environment& environment) {
    if (!number_of(environment, "SLURM_STEP_ID")) {
        return std::nullopt;
    }
    auto rank = rank_by(environment, kSlurm);
    if (!rank) {
        rank = rank_by(environment,
                       {kSlurm.rank, "SLURM_STEP_NUM_TASKS", kSlurm.local_rank});
    }
    return rank;
}

// The launcher is the nearest ancestor that does not have the variable it gives its
// ranks; shells and wrappers in between have it.
std::string launcher_process(const std::string& variable) {
    pid_t pid = getppid();
    for (int distance = 0; distance < 64 && pid > 1; ++distance) {
        if (platform::started_with_variable(pid, variable) != true) {
            break;
        }
        pid = platform::parent_of(pid);
    }
    return platform::process_identity(pid);
}

std::string address(const Environment& environment) {
    return fmt::format("{}:{}", environment("MASTER_ADDR").value_or(""),
                       environment("MASTER_PORT").value_or(""));
}

// Where all ranks are on this host they have one launcher process, which tells two
// launches with the same names apart. Elsewhere the names have to do.
std::string launcher_if_local(std::optional<std::int64_t> local_size,
                              std::int64_t world_size, const std::string& variable) {
    return local_size.value_or(world_size) == world_size ? launcher_process(variable)
                                                         : "";
}

LaunchedJob torchrun_job(const Environment& environment, const std::string& id,
                         const Rank& rank) {
    const std::string launcher =
        launcher_if_local(number_of(environment, "LOCAL_WORLD_SIZE"), rank.world_size,
                          "TORCHELASTIC_RUN_ID");
    LaunchedJob job;
    job.launcher = "torchrun";
    job.attempt = number_of(environment, "TORCHELASTIC_RESTART_COUNT").value_or(0) + 1;
    job.job_name =
        fmt::format("torchrun {} {}", id, environment("MASTER_ADDR").value_or(""));
    if (id == "none") {
        job.job_name +=
            fmt::format(" {}", launcher.empty() ? address(environment) : launcher);
    }
    job.run_name = fmt::format("{} {}", job.job_name, launcher);
    return job;
}

LaunchedJob slurm_job(const Environment& environment, const std::string& id) {
    LaunchedJob job;
    job.launcher = "slurm";
    job.attempt = number_of(environment, "SLURM_RESTART_COUNT").value_or(0) + 1;
    job.job_name =
        fmt::format("slurm {} {}.{}", environment("SLURM_CLUSTER_NAME").value_or(""),
                    id, environment("SLURM_STEP_ID").value_or(""));
    job.run_name = job.job_name;
    return job;
}

std::optional<LaunchedJob> mpi_job(const Environment& environment) {
    for (const RankVariables& variables : {kOpenMpi, kPmi}) {
        const auto rank = rank_by(environment, variables);
        if (!rank) {
            continue;
        }
        LaunchedJob job;
        job.launcher = "mpi";
        job.job_name = "mpi";
        for (const char* name :
             {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"}) {
            if (const auto id = environment(name)) {
                job.job_name += fmt::format(" {}", *id);
                break;
            }
        }
        auto local_size = number_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE");
        if (!local_size) {
            local_size = number_of(environment, "MPI_LOCALNRANKS");
        }
        job.job_name += fmt::format(
            " {}", launcher_if_local(local_size, rank->world_size, variables.rank));
        job.run_name = job.job_name;
        return job;
    }
    return std::nullopt;
}

// Ranks that a script starts by hand, with the variables torch.distributed reads.
std::optional<LaunchedJob> hand_made_job(const Environment& environment) {
    const auto rank = rank_by(environment, kTorch);
    if (!rank || rank->world_size < 2) {
        return std::nullopt;
    }
    LaunchedJob job;
    job.launcher = "environment";
    job.job_name =
        fmt::format("ranks {} {}", address(environment),
                    launcher_if_local(number_of(environment, "LOCAL_WORLD_SIZE"),
                                      rank->world_size, "RANK"));
    job.run_name = job.job_name;
    return job;
}

}  // namespace

Environment process_environment() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* const value = std::getenv(name.c_str());
        return value == nullptr || *value == '\0' ? std::nullopt
                                                  : std::optional<std::string>(value);
    };
}

std::optional<Rank> find_rank(const Environment& environment) {
    if (const auto rank = rank_by(environment, kTorch)) {
        return rank;
    }
    if (const auto rank = slurm_rank(environment)) {
        return rank;
    }
    if (const auto rank = rank_by(environment, kOpenMpi)) {
        return rank;
    }
    return rank_by(environment, kPmi);
}

std::optional<LaunchedJob> find_job(const Environment& environment) {
    const auto id = environment("TORCHELASTIC_RUN_ID");
    const auto torch_rank = rank_by(environment, kTorch);
    if (id && torch_rank) {
        return torchrun_job(environment, *id, *torch_rank);
    }
    const auto slurm_id = environment("SLURM_JOB_ID");
    if (slurm_id && slurm_rank(environment)) {
        return slurm_job(environment, *slurm_id);
    }
    if (auto job = mpi_job(environment)) {
        return job;
    }
    return hand_made_job(environment);
}

}  // namespace metatrain_timing::detail
