#include "analyzer/analysis/verdict.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyzer/analysis/granted_cpus.hpp"
#include "analyzer/analysis/report.hpp"
#include "analyzer/analysis/stages.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kInputBound = 0.30;
constexpr double kMixedBound = 0.10;

double part_of(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

const StageRow* find_row(const std::vector<StageRow>& rows, std::string_view stage) {
    const auto row = std::find_if(
        rows.begin(), rows.end(),
        [&](const StageRow& candidate) { return candidate.stage == stage; });
    return row == rows.end() ? nullptr : &*row;
}

// A row without its recorded parts.
struct Self {
    const StageRow* row = nullptr;
    std::int64_t total_ns = 0;
    std::int64_t shown_ns = 0;  // per step, see PhaseReport
};

Self self_of(const PhaseReport& phase, const std::vector<StageRow>& rows,
             std::size_t i) {
    Self self{&rows[i], rows[i].total_ns, phase.shown_ns(rows[i])};
    for (std::size_t k = i + 1; k < rows.size() && rows[k].level > rows[i].level; ++k) {
        if (rows[k].level == rows[i].level + 1 && rows[k].stage != kUnattributed) {
            self.total_ns -= rows[k].total_ns;
            self.shown_ns -= phase.shown_ns(rows[k]);
        }
    }
    return self;
}

// The row that takes most itself, of those below the top row `top`.
std::optional<Self> dearest_below(const PhaseReport& phase,
                                  const std::vector<StageRow>& rows,
                                  std::string_view top) {
    std::optional<Self> dearest;
    bool inside = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].level == 0) {
            inside = rows[i].stage == top;
            continue;
        }
        if (inside && rows[i].stage != kUnattributed) {
            const Self self = self_of(phase, rows, i);
            if (!dearest || self.total_ns > dearest->total_ns) {
                dearest = self;
            }
        }
    }
    return dearest;
}

Leaf make_leaf(const Self& self, std::int64_t total_ns, std::int64_t units,
               std::int64_t whole_ns) {
    const StageRow& row = *self.row;
    Leaf leaf;
    leaf.stage = row.stage;
    leaf.where = row.where;
    leaf.per_unit_ns = part_of(total_ns, units);
    leaf.share = part_of(total_ns, whole_ns);
    if (row.cpu_ns && row.cpu_wall_ns > 0) {
        leaf.cpu_per_unit_ns = leaf.per_unit_ns * part_of(*row.cpu_ns, row.cpu_wall_ns);
    }
    return leaf;
}

void find_dearest_of_body(Verdict& verdict, const PhaseReport& phase) {
    const StageRow* step = find_top(phase.time.main, "step");
    const std::optional<Self> dearest = dearest_below(phase, phase.time.main, "step");
    if (step != nullptr && dearest) {
        verdict.compute = make_leaf(*dearest, dearest->shown_ns, phase.shown_steps(),
                                    phase.shown_ns(*step));
    }
}

// The rows that making a batch consists of: in the workers or, without any, in the
// wait.
struct BatchRows {
    const std::vector<StageRow>* rows = nullptr;
    std::string_view top;
    std::int64_t batches = 0;
    std::int64_t whole_ns = 0;
};

BatchRows rows_of_batch(const PhaseReport& phase) {
    BatchRows result{&phase.time.worker, "fetch", 0, 0};
    for (const WorkerTime& worker : phase.workers) {
        result.batches += worker.batches;
    }
    if (result.batches == 0) {
        result.rows = &phase.time.main;
        result.top = "loader";
    }
    if (const StageRow* fetch = find_row(*result.rows, "fetch")) {
        result.batches = result.batches > 0 ? result.batches : fetch->calls;
        result.whole_ns = fetch->total_ns;
    }
    return result;
}

void find_dearest_of_input(Verdict& verdict, const PhaseReport& phase) {
    const BatchRows batch = rows_of_batch(phase);
    const bool in_main = phase.workers.empty();
    if (in_main && find_row(*batch.rows, "fetch") == nullptr) {
        return;  // it is made elsewhere
    }
    if (const auto dearest = dearest_below(phase, *batch.rows, batch.top)) {
        verdict.input =
            make_leaf(*dearest, dearest->total_ns, batch.batches, batch.whole_ns);
    }
    verdict.batch_ns = part_of(batch.whole_ns, batch.batches);
    if (!in_main) {
        verdict.worker_batch_ns = part_of(batch.whole_ns, batch.batches);
    }
}

WaitedFor::What kind_of(const WaitCause& cause, bool has_workers) {
    using What = WaitedFor::What;
    if (cause.cause == "fetch" || cause.cause == "earlier_batch" ||
        (cause.cause == "main" && !has_workers)) {
        return What::making;
    }
    if (cause.cause == "worker_start") {
        return What::worker_start;
    }
    if (cause.cause == "worker_idle") {
        return What::worker_idle;
    }
    if (cause.cause == "send") {
        return What::sending;
    }
    if (cause.cause == "ready" || cause.stage == "receive" || cause.stage == "pin") {
        return What::taking_over;
    }
    return What::other;
}

void find_waited_for(Verdict& verdict, const PhaseReport& phase, bool has_workers) {
    struct Sum {
        std::int64_t total_ns = 0;
        std::string stage;  // of the greatest cause that has one
    };
    std::map<WaitedFor::What, Sum> sums;
    std::int64_t unknown_ns = 0;
    for (const WaitCause& cause : phase.wait_causes) {  // greatest first
        if (cause.cause == kUnattributed) {
            unknown_ns += cause.total_ns;
            continue;
        }
        Sum& sum = sums[kind_of(cause, has_workers)];
        sum.total_ns += cause.total_ns;
        sum.stage = sum.stage.empty() ? cause.stage : sum.stage;
    }
    const auto most =
        std::max_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
            return a.second.total_ns < b.second.total_ns;
        });
    if (most == sums.end() || most->second.total_ns <= unknown_ns) {
        return;  // it is not known what most of the waits are for
    }
    WaitedFor waited;
    waited.what = most->first;
    waited.share = part_of(most->second.total_ns, phase.time.loader_ns);
    waited.stage = waited.what == WaitedFor::What::making && verdict.input
                       ? verdict.input->stage
                       : most->second.stage;
    verdict.waited_for = std::move(waited);
}

// What goes by from the last batch of each pass to the first of the next.
struct BetweenPasses {
    std::int64_t waits_ns = 0;   // the stop and the start of workers, the first wait
    std::int64_t bodies_ns = 0;  // of the first turns
    std::int64_t count = 0;
};

// First turns that are not on record are taken to be as the others.
BetweenPasses measure_between(const PhaseReport& phase) {
    const EpochStartSums sums = sum_up(phase.epoch_starts);
    const std::int64_t mean_wait_ns =
        sums.known_passes > 0 ? sums.first_wait_ns / sums.known_passes : 0;
    BetweenPasses between;
    std::map<std::int64_t, std::int64_t> end_of_rank;  // of its pass before
    for (const EpochStart& start : phase.epoch_starts) {
        if (start.epoch > 0) {
            between.waits_ns += end_of_rank[start.rank] + start.before_wall_ns +
                                start.first_wait_ns.value_or(mean_wait_ns);
            between.bodies_ns +=
                start.first_turn_ns.value_or(0) - start.first_wait_ns.value_or(0);
            ++between.count;
        }
        end_of_rank[start.rank] = start.end_ns;
    }
    return between;
}

void measure_waits(Verdict& verdict, const PhaseReport& phase) {
    const Breakdown& time = phase.time;
    verdict.wait_share = part_of(time.loader_ns, time.wall_ns);
    const StageRow* loader = find_top(time.main, "loader");
    const StageRow* step = find_top(time.main, "step");
    const EpochStartSums sums = sum_up(phase.epoch_starts);
    if (loader != nullptr && step != nullptr && phase.shown_steps() > 0) {
        // The waits for first batches are none of a steady step.
        const std::int64_t wait_ns =
            phase.is_summed() ? std::max<std::int64_t>(
                                    0, loader->total_ns - sums.all_first_waits_ns())
                              : loader->steady_ns;
        const std::int64_t steady_ns = wait_ns + phase.shown_ns(*step);
        verdict.steady_wait_ns = part_of(wait_ns, phase.shown_steps());
        verdict.steady_step_ns = part_of(steady_ns, phase.shown_steps());
        // What a training that goes on for longer will spend: the steady steps and the
        // begin of each pass, but not the very first one, in which a model is compiled,
        // caches are filled and memory is allocated.
        const BetweenPasses between = measure_between(phase);
        const std::int64_t bodies_ns = phase.is_summed() ? 0 : between.bodies_ns;
        verdict.wait_share = part_of(wait_ns + between.waits_ns,
                                     steady_ns + between.waits_ns + bodies_ns);
        verdict.between_passes_ns = part_of(between.waits_ns, between.count);
        verdict.between_is_most = between.waits_ns > wait_ns;
    }
    const std::int64_t starts_ns = sums.before_wall_ns + sums.all_first_waits_ns();
    verdict.pass_count = sums.passes;
    verdict.pass_start_ns = part_of(starts_ns, verdict.pass_count);
    verdict.between_share =
        part_of(starts_ns + sums.end_ns, time.wall_ns + sums.before_wall_ns);
}

bool makes_workers_anew(const Report& report, const PhaseReport& phase) {
    return std::any_of(phase.loaders.begin(), phase.loaders.end(),
                       [&](std::int32_t loader) {
                           const auto at = static_cast<std::size_t>(loader);
                           return report.run->loaders[at].num_workers > 0 &&
                                  !report.run->loaders[at].persistent_workers;
                       });
}

void count_crowded_workers(Verdict& verdict, const Report& report,
                           std::int64_t workers) {
    const auto cpus = granted_cpus(report.environment);
    if (cpus && static_cast<double>(workers) > *cpus) {
        verdict.crowded_workers = workers;
        verdict.granted_cpus = *cpus;
    }
}

void name_stage(Verdict& verdict) {
    if (verdict.bound_by == BoundBy::compute) {
        verdict.stage = verdict.compute ? verdict.compute->stage : "step";
    } else if (verdict.between_is_most && verdict.makes_workers_anew) {
        verdict.stage = "worker_start";
    } else {
        const bool known = verdict.waited_for && !verdict.waited_for->stage.empty();
        verdict.stage = known ? verdict.waited_for->stage : "loader";
    }
}

}  // namespace

std::string_view to_string(BoundBy bound_by) {
    switch (bound_by) {
        case BoundBy::input:
            return "input";
        case BoundBy::mixed:
            return "mixed";
        case BoundBy::compute:
            return "compute";
        case BoundBy::unknown:
            return "unknown";
    }
    return "unknown";
}

Verdict judge(const Report& report) {
    Verdict verdict;
    if (report.phases.empty() || report.phases.front().steps.steps == 0 ||
        report.phases.front().name == kBackground) {
        return verdict;
    }
    const PhaseReport& phase = report.phases.front();
    measure_waits(verdict, phase);
    verdict.bound_by = verdict.wait_share >= kInputBound   ? BoundBy::input
                       : verdict.wait_share >= kMixedBound ? BoundBy::mixed
                                                           : BoundBy::compute;
    find_dearest_of_body(verdict, phase);
    find_dearest_of_input(verdict, phase);
    const std::int64_t workers = phase.worker_count;
    find_waited_for(verdict, phase, workers > 0);
    verdict.workers_unrecorded = workers > 0 && phase.workers.empty();
    count_crowded_workers(verdict, report, workers);
    verdict.makes_workers_anew = makes_workers_anew(report, phase);
    name_stage(verdict);
    verdict.checks = check_suspects(report, verdict.between_share, verdict.wait_share);
    return verdict;
}

}  // namespace metatrain_timing::analyzer
