#include "analyzer/analysis/wait_causes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "analyzer/analysis/batch_index.hpp"
#include "analyzer/analysis/loop_parts.hpp"
#include "analyzer/analysis/stage_tree.hpp"
#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/wait_slices.hpp"

namespace metatrain_timing::analyzer {
namespace {

using Totals = std::map<SliceCause, std::int64_t>;
using KindTotals =
    std::array<std::int64_t, 1 + static_cast<std::size_t>(WaitKind::worker_start)>;

// The waits of one group.
struct Waits {
    Totals head_of_line;  // of those on record, while other batches lay ready
    Totals main;          // what the waiting threads did
    /// The rest: of the waits on record, in clusters of neighbours.
    std::vector<Totals> others{1};
    std::int64_t summed_ns = 0;  // the rest of those only summed
    std::vector<KindTotals> of_pass;
};

constexpr SliceCause kSummedCause{WaitKind::summed, -1, -1};

// Adds waits up.
class Adder {
  public:
    explicit Adder(const Findings& findings)
        : run_(findings.run()),
          stages_(findings.stages()),
          batches_(findings.batches()),
          slicer_(findings) {}

    void add_wait(const Track& track, std::uint32_t wait, Waits& waits) {
        const std::int64_t ready_ns = other_batch_ready(track.intervals[wait]);
        KindTotals& of_pass = waits.of_pass.back();
        Totals& others = waits.others.back();
        slicer_.cut(
            track, wait,
            [&](const SliceCause& cause, std::int64_t from_ns, std::int64_t to_ns) {
                (cause.kind == WaitKind::main ? waits.main : others)[cause] +=
                    to_ns - from_ns;
                of_pass[static_cast<std::size_t>(cause.kind)] += to_ns - from_ns;
                if (to_ns > ready_ns) {
                    waits.head_of_line[cause] += to_ns - std::max(from_ns, ready_ns);
                }
            });
    }

    /// The waits of a track that are only summed, into those of their groups.
    void add_sums(const Track& track, const LoopsOfTrack& group_of,
                  std::vector<Waits>& waits) const {
        const std::vector<LoopPart> parts = find_loop_parts(track, stages_);
        std::vector<Waits*> of_node(parts.size(), nullptr);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const IntervalTotal& total = track.totals[i];
            const auto parent = parent_of(total);
            const auto group = group_of.find(total.iterator);
            if (parts[i] == LoopPart::wait) {
                of_node[i] = group == group_of.end() ? nullptr : &waits[group->second];
            } else if (parts[i] == LoopPart::none && parent) {
                of_node[i] = of_node[*parent];
            }
            if (of_node[i] == nullptr) {
                continue;
            }
            rest_of(*of_node[i], parts[i], total) += total.total_ns;
            if (parts[i] == LoopPart::none) {
                rest_of(*of_node[i], parts[*parent], track.totals[*parent]) -=
                    total.total_ns;
            }
        }
    }

  private:
    static std::int64_t& rest_of(Waits& waits, LoopPart part,
                                 const IntervalTotal& total) {
        return part == LoopPart::wait ? waits.summed_ns
                                      : waits.main[{WaitKind::main, total.stage, -1}];
    }

    // From when on a batch that comes later lay ready while this one was waited for;
    // with in_order=False it would have been taken.
    std::int64_t other_batch_ready(const Interval& wait) const {
        constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
        const std::int32_t at =
            wait.iterator < 0
                ? -1
                : run_.iterators[static_cast<std::size_t>(wait.iterator)].loader;
        if (at < 0) {
            return kNever;
        }
        const Loader& loader = run_.loaders[static_cast<std::size_t>(at)];
        if (!loader.in_order || loader.num_workers < 2) {
            return kNever;
        }
        return batches_
            .ready_after(wait.iterator, wait.batch,
                         loader.num_workers * loader.prefetch_factor.value_or(2))
            .value_or(kNever);
    }

    const Run& run_;
    const StageNumbers& stages_;
    const BatchIndex& batches_;
    WaitSlicer slicer_;
};

std::int64_t sum_of(const Totals& totals) {
    std::int64_t sum_ns = 0;
    for (const auto& [cause, total_ns] : totals) {
        sum_ns += total_ns;
    }
    return sum_ns;
}

// Standard error of the share that `cause` has in all clusters: that of a ratio of two
// sums. Cochran, "Sampling Techniques", 3rd edition, 1977, section 6.4.
std::optional<double> share_error(const std::vector<Totals>& clusters,
                                  const SliceCause& cause, double share,
                                  std::int64_t all_ns) {
    if (clusters.size() < 2 || all_ns <= 0) {
        return std::nullopt;
    }
    double squares = 0;
    for (const Totals& cluster : clusters) {
        const auto own = cluster.find(cause);
        const double deviation =
            (own == cluster.end() ? 0 : static_cast<double>(own->second)) -
            share * static_cast<double>(sum_of(cluster));
        squares += deviation * deviation;
    }
    const auto count = static_cast<double>(clusters.size());
    return std::sqrt(squares * count / (count - 1)) / static_cast<double>(all_ns);
}

// All waits of a group by cause, and the errors of the shares of those estimated.
struct Estimate {
    Totals totals;
    Totals head_of_line;
    std::map<SliceCause, double> share_errors;
};

// Shares out what lies in what is only summed as the rest of what is on record.
Estimate estimate(Waits waits) {
    Estimate result;
    std::int64_t to_share_ns = waits.summed_ns;
    Totals known;
    for (Totals& cluster : waits.others) {
        if (const auto summed = cluster.find(kSummedCause); summed != cluster.end()) {
            to_share_ns += summed->second;
            cluster.erase(summed);
        }
        for (const auto& [cause, total_ns] : cluster) {
            known[cause] += total_ns;
        }
    }
    result.totals = std::move(waits.main);
    result.head_of_line = std::move(waits.head_of_line);
    const std::int64_t known_ns = sum_of(known);
    const std::int64_t all_ns = sum_of(result.totals) + known_ns + to_share_ns;
    std::int64_t left_ns = to_share_ns;
    for (const auto& [cause, total_ns] : known) {
        const double share = share_of(total_ns, known_ns);
        const auto more_ns = static_cast<std::int64_t>(
            std::llround(share * static_cast<double>(to_share_ns)));
        result.totals[cause] += total_ns + more_ns;
        left_ns -= more_ns;
        if (to_share_ns > 0) {
            if (const auto error = share_error(waits.others, cause, share, known_ns)) {
                result.share_errors[cause] = *error * share_of(to_share_ns, all_ns);
            }
        }
    }
    result.totals[{}] += left_ns;  // so that the table closes
    return result;
}

std::vector<WaitCause> to_rows(const Run& run, const Estimate& estimate) {
    const Totals& totals = estimate.totals;
    const std::int64_t all_ns = sum_of(totals);
    std::vector<WaitCause> rows;
    for (const auto& [cause, total_ns] : totals) {
        const bool is_rest = cause.kind == WaitKind::unattributed;
        if (total_ns == 0 && !is_rest) {
            continue;
        }
        WaitCause row;
        row.cause = name_of(cause.kind);
        row.stage =
            cause.stage < 0 ? "" : run.stages[static_cast<std::size_t>(cause.stage)];
        if (cause.worker >= 0) {
            row.worker = cause.worker;
        }
        row.total_ns = total_ns;
        row.share = share_of(total_ns, all_ns);
        if (const auto held = estimate.head_of_line.find(cause);
            held != estimate.head_of_line.end()) {
            row.head_of_line_ns = held->second;
        }
        if (const auto error = estimate.share_errors.find(cause);
            error != estimate.share_errors.end()) {
            row.share_error = error->second;
        }
        rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const WaitCause& a, const WaitCause& b) {
                         const bool a_last = a.cause == kUnattributed;
                         const bool b_last = b.cause == kUnattributed;
                         return a_last != b_last ? b_last : a.total_ns > b.total_ns;
                     });
    return rows;
}

PassWaits pass_waits(const Run& run, const Pass& pass, const KindTotals& totals) {
    PassWaits waits;
    waits.rank = run.processes[pass.process].rank;
    if (!pass.iterators.empty()) {
        const auto first = static_cast<std::size_t>(pass.iterators.front());
        waits.epoch = run.iterators[first].epoch;
    }
    waits.total_ns = pass.wait_ns();
    std::int64_t known_ns = 0;
    for (std::size_t kind = 0; kind < totals.size(); ++kind) {
        if (totals[kind] != 0 && WaitKind(kind) != WaitKind::summed) {
            waits.causes.emplace(name_of(WaitKind(kind)), totals[kind]);
            known_ns += totals[kind];
        }
    }
    waits.summed_ns = waits.total_ns - known_ns;
    return waits;
}

}  // namespace

std::vector<GroupWaits> find_wait_causes(const Findings& findings) {
    const Run& run = findings.run();
    const std::vector<Pass>& passes = findings.passes();
    const PhaseGroups& groups = findings.groups();
    Adder adder(findings);
    std::vector<Waits> waits(groups.groups.size());
    for (std::size_t g = 0; g < waits.size(); ++g) {
        for (const std::size_t p : groups.groups[g].passes) {
            const Pass& pass = passes[p];
            const Track& track = run.processes[pass.process].tracks[pass.track];
            waits[g].of_pass.emplace_back();
            for (const Turn& turn : pass.turns) {
                if (turn.follows_gap && !waits[g].others.back().empty()) {
                    waits[g].others.emplace_back();
                }
                for (const std::uint32_t wait : pass.waits_of(turn)) {
                    adder.add_wait(track, wait, waits[g]);
                }
            }
        }
    }
    for (const auto& [key, loops] : find_loop_groups(passes, groups)) {
        adder.add_sums(run.processes[key.first].tracks[key.second], loops, waits);
    }
    std::vector<GroupWaits> all(waits.size());
    for (std::size_t g = 0; g < waits.size(); ++g) {
        const std::vector<std::size_t>& own = groups.groups[g].passes;
        for (std::size_t i = 0; i < own.size(); ++i) {
            all[g].passes.push_back(
                pass_waits(run, passes[own[i]], waits[g].of_pass[i]));
        }
        if (!own.empty()) {
            all[g].causes = to_rows(run, estimate(std::move(waits[g])));
        }
    }
    return all;
}

}  // namespace metatrain_timing::analyzer
