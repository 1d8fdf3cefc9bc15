#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace metatrain_timing::detail {

/// Reads an environment variable; nothing where it is unset or empty. A parameter so
/// that tests need no real launcher.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

Environment process_environment();

/// Which rank a launcher made of this process.
struct Rank {
    std::int64_t rank = 0;
    std::int64_t world_size = 1;
    std::int64_t local_rank = 0;
};

/// What a launcher's ranks have in common.
struct LaunchedJob {
    std::string launcher;  // "torchrun", "slurm", "mpi" or "environment"
    std::string job_name;  // the same in all ranks and all attempts of a job
    std::string run_name;  // the same in all ranks of an attempt
    std::int64_t attempt = 1;
};

/// The rank by the variables of torchrun (RANK, WORLD_SIZE, LOCAL_RANK), Slurm, Open
/// MPI and PMI, in this order; nothing where none of them started this process.
std::optional<Rank> find_rank(const Environment& environment);

/// The job this process is a rank of; nothing where it has to make an identity of its
/// own.
std::optional<LaunchedJob> find_job(const Environment& environment);

}  // namespace metatrain_timing::detail
