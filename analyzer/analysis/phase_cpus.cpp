#include "analyzer/analysis/phase_cpus.hpp"

#include <algorithm>
#include <vector>

#include "analyzer/analysis/cpu_use.hpp"
#include "analyzer/analysis/granted_cpus.hpp"
#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/sweep.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Use {
    double wall_ns = 0;
    double cpu_ns = 0;
    double queued_ns = 0;
    bool knows_queue = false;

    void add(const CpuUse& more) {
        wall_ns += static_cast<double>(more.wall_ns);
        cpu_ns += more.cpu_ns;
        if (more.queued_ns >= 0) {
            queued_ns += more.queued_ns;
            knows_queue = true;
        }
    }
};

std::int64_t busy_ns(const Track& track, const std::vector<std::uint32_t>& outermost,
                     const StageNumbers& stages, std::int64_t from_ns,
                     std::int64_t to_ns) {
    std::int64_t sum_ns = 0;
    sweep(track, first_overlapping(track, outermost, from_ns), from_ns, to_ns,
          [&](const Slice& slice) {
              if (slice.outermost != nullptr && is(*slice.outermost, stages.fetch)) {
                  sum_ns += slice.dur_ns();
              }
          });
    return sum_ns;
}

struct WorkersUse {
    Use use;
    double busy_ns = 0;
};

// Of one worker while the passes last.
void add_worker(const Process& worker, const StageNumbers& stages,
                const std::vector<const Pass*>& passes, WorkersUse& workers) {
    if (worker.cpu_usage.size() < 2) {
        return;
    }
    std::vector<std::vector<std::uint32_t>> outermost;
    for (const Track& track : worker.tracks) {
        outermost.push_back(find_outermost(track));
    }
    for (const Pass* pass : passes) {
        // A worker may live for a part of the time.
        const std::int64_t begin_ns =
            std::max(pass->start_ns, worker.cpu_usage.front().at_ns);
        const std::int64_t end_ns =
            std::min(pass->end_ns, worker.cpu_usage.back().at_ns);
        const auto all = cpu_use_between(worker.cpu_usage, begin_ns, end_ns);
        if (!all) {
            continue;
        }
        workers.use.add(*all);
        for (std::size_t t = 0; t < worker.tracks.size(); ++t) {
            workers.busy_ns += static_cast<double>(
                busy_ns(worker.tracks[t], outermost[t], stages, begin_ns, end_ns));
        }
    }
}

}  // namespace

PhaseCpus measure_phase_cpus(const Run& run, std::span<const Pass> passes,
                             const PhaseGroup& group) {
    PhaseCpus cpus;
    if (group.passes.empty()) {
        return cpus;
    }
    const std::size_t first = passes[group.passes.front()].process;
    const Process& process = run.processes[first];
    cpus.granted = granted_cpus(process.environment);
    Use main;
    Use loop;
    double wall_ns = 0;
    std::vector<const Pass*> own;
    for (const std::size_t p : group.passes) {
        const Pass& pass = passes[p];
        if (pass.process != first) {
            continue;
        }
        own.push_back(&pass);
        wall_ns += static_cast<double>(pass.end_ns - pass.start_ns);
        if (const auto use =
                cpu_use_between(process.cpu_usage, pass.start_ns, pass.end_ns)) {
            main.add(*use);
        }
        if (const auto use = cpu_use_between(process.tracks[pass.track].cpu_usage,
                                             pass.start_ns, pass.end_ns)) {
            loop.add(*use);
        }
    }
    const StageNumbers stages(run);
    WorkersUse workers;
    for (const Process& worker : run.processes) {
        if (worker.role == Role::worker && worker.parent_uuid == process.uuid) {
            add_worker(worker, stages, own, workers);
        }
    }
    if (main.wall_ns > 0) {
        cpus.main_cpus = main.cpu_ns / main.wall_ns;
    }
    if (loop.wall_ns > 0 && loop.knows_queue) {
        cpus.main_queued_share = std::min(1.0, loop.queued_ns / loop.wall_ns);
    }
    if (workers.use.wall_ns > 0 && wall_ns > 0) {
        cpus.worker_cpus = workers.use.cpu_ns / wall_ns;
    }
    if (workers.busy_ns > 0 && workers.use.knows_queue) {
        cpus.worker_queued_share =
            std::min(1.0, workers.use.queued_ns / workers.busy_ns);
    }
    return cpus;
}

}  // namespace metatrain_timing::analyzer
