#pragma once

#include "analyzer/replay/cpus.hpp"
#include "analyzer/replay/workload.hpp"

namespace metatrain_timing::analyzer {

/// Mean walls as they were recorded, of the batches of a workload.
struct RecordedMeans {
    double turn_ns = 0;  // of turns that count: wait and body
    double fetch_ns = 0;
    double body_ns = 0;
    /// Of these: the thread could have run and had no CPU. 0 also where unknown.
    double fetch_queued_ns = 0;
    double body_queued_ns = 0;
};

/// A workload that is free of contention for CPUs, and what it gets of them.
struct FittedWorkload {
    Workload work;
    Cpus cpus;
};

/// Takes out of a workload what its threads waited for a core, as the kernel counted
/// it, and finds which part of the CPUs is lost in the crowd: such that the replay of
/// the rest, with the settings of the record, takes as long as was recorded. Where
/// nothing was counted, or no part explains it since other programs were in the way,
/// the walls stay as they are.
FittedWorkload fit(const Workload& recorded, const RecordedMeans& means,
                   const LoaderSettings& settings, double cpus);

}  // namespace metatrain_timing::analyzer
