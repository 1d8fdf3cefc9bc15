#include "analyzer/analysis/wait_causes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyzer/analysis/loop_parts.hpp"
#include "analyzer/analysis/stage_tree.hpp"
#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/sweep.hpp"

namespace metatrain_timing::analyzer {
namespace {

// A stretch of the life of a batch outside of the thread that waits for it.
struct Event {
    std::int32_t iterator = -1;
    std::int32_t batch = -1;
    std::uint32_t process = 0;
    std::uint32_t track = 0;
    std::uint32_t interval = 0;

    std::pair<std::int32_t, std::int32_t> key() const { return {iterator, batch}; }
};

// Finds where each batch was, by (pass, batch).
class Batches {
  public:
    Batches(const Run& run, const StageNumbers& stages) : run_(run) {
        for (std::uint32_t p = 0; p < run.processes.size(); ++p) {
            const Process& process = run.processes[p];
            const bool is_worker = process.role == Role::worker;
            for (std::uint32_t t = 0; t < process.tracks.size(); ++t) {
                are_summed_ |= is_worker && !process.tracks[t].totals.empty();
                const auto& intervals = process.tracks[t].intervals;
                for (std::uint32_t i = 0; i < intervals.size(); ++i) {
                    const Interval& interval = intervals[i];
                    const bool wanted =
                        is_worker
                            ? is(interval, stages.fetch) || is(interval, stages.send)
                            : is(interval, stages.receive) || is(interval, stages.pin);
                    if (wanted && interval.iterator >= 0 && interval.batch >= 0) {
                        events_.push_back({interval.iterator, interval.batch, p, t, i});
                    }
                }
            }
        }
        std::stable_sort(
            events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.key() < b.key(); });
    }

    std::span<const Event> of(std::int32_t iterator, std::int32_t batch) const {
        Event wanted;
        wanted.iterator = iterator;
        wanted.batch = batch;
        const auto [first, last] = std::equal_range(
            events_.begin(), events_.end(), wanted,
            [](const Event& a, const Event& b) { return a.key() < b.key(); });
        return {first, last};
    }

    /// Whether some of what workers did is only summed.
    bool are_summed() const { return are_summed_; }

    const Process& process(const Event& event) const {
        return run_.processes[event.process];
    }
    const Track& track(const Event& event) const {
        return process(event).tracks[event.track];
    }
    const Interval& interval(const Event& event) const {
        return track(event).intervals[event.interval];
    }

  private:
    const Run& run_;
    std::vector<Event> events_;
    bool are_summed_ = false;
};

struct Cause {
    std::string_view name = kUnattributed;
    int stage = -1;
    std::int64_t worker = -1;
    auto operator<=>(const Cause&) const = default;
};

using Totals = std::map<Cause, std::int64_t>;

// A stretch that lies in what is only summed: shared out in the end.
constexpr std::string_view kSummed = "summed";

// The waits of one group.
struct Waits {
    Totals main;  // what the waiting threads did
    /// The rest: of the waits on record, in clusters of neighbours.
    std::vector<Totals> others{1};
    std::int64_t summed_ns = 0;  // the rest of those only summed
};

const Cause kSummedCause{kSummed, -1, -1};

// Cuts the waits of one run into slices.
class Slicer {
  public:
    explicit Slicer(const Run& run) : run_(run), stages_(run), batches_(run, stages_) {}

    void add_wait(const Track& track, std::uint32_t wait, Waits& waits) {
        const Interval& interval = track.intervals[wait];
        sweep(track, wait + 1, interval.start_ns, interval.end_ns(),
              [&](const Slice& slice) {
                  if (slice.innermost != nullptr) {
                      waits.main[{"main", slice.innermost->stage, -1}] +=
                          slice.dur_ns();
                  } else {
                      add_gap(track, interval, slice.start_ns, slice.end_ns,
                              waits.others.back());
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
                                      : waits.main[{"main", total.stage, -1}];
    }

    // A stretch in which the waiting thread had nothing to do.
    void add_gap(const Track& waiting, const Interval& wait, std::int64_t from_ns,
                 std::int64_t to_ns, Totals& totals) {
        const Event* fetch = nullptr;
        std::vector<Event> after;  // send, receive, pin
        for (const Event& event : batches_.of(wait.iterator, wait.batch)) {
            if (is(batches_.interval(event), stages_.fetch)) {
                fetch = &event;
            } else if (&batches_.track(event) != &waiting) {
                after.push_back(event);
            }
        }
        if (fetch == nullptr) {
            totals[batches_.are_summed() ? kSummedCause : Cause()] += to_ns - from_ns;
            return;
        }
        const std::int64_t fetched_ns =
            std::clamp(batches_.interval(*fetch).end_ns(), from_ns, to_ns);
        add_worker_part(*fetch, from_ns, fetched_ns, totals);
        add_way_to_main(*fetch, std::move(after), fetched_ns, to_ns, totals);
    }

    // Until the batch was fetched: what its worker did.
    void add_worker_part(const Event& fetch, std::int64_t from_ns, std::int64_t to_ns,
                         Totals& totals) {
        const Track& track = batches_.track(fetch);
        const std::int64_t worker = batches_.process(fetch).worker_id.value_or(-1);
        sweep(track, first_overlapping(track, outermost(track), from_ns), from_ns,
              to_ns, [&](const Slice& slice) {
                  totals[cause_in_worker(track, slice, batches_.interval(fetch),
                                         worker)] += slice.dur_ns();
              });
    }

    Cause cause_in_worker(const Track& track, const Slice& slice, const Interval& fetch,
                          std::int64_t worker) const {
        if (slice.outermost == nullptr) {
            return track.totals.empty() ? Cause() : kSummedCause;
        }
        const int stage = slice.innermost->stage;
        if (slice.outermost == &fetch) {
            return {"fetch", stage, worker};
        }
        if (is(*slice.outermost, stages_.fetch)) {
            return {"earlier_batch", stage, worker};
        }
        if (is(*slice.outermost, stages_.worker_start)) {
            return {"worker_start", stage, worker};
        }
        if (is(*slice.outermost, stages_.worker_idle)) {
            return {"worker_idle", stage, worker};
        }
        return {};
    }

    // Once it was fetched: sent by the worker, received and pinned by other threads.
    void add_way_to_main(const Event& fetch, std::vector<Event> events,
                         std::int64_t from_ns, std::int64_t to_ns, Totals& totals) {
        const std::int64_t worker = batches_.process(fetch).worker_id.value_or(-1);
        std::sort(events.begin(), events.end(), [&](const Event& a, const Event& b) {
            return batches_.interval(a).start_ns < batches_.interval(b).start_ns;
        });
        std::int64_t at_ns = from_ns;
        Cause held;  // by nothing on record, until the batch was sent
        for (const Event& event : events) {
            const Interval& interval = batches_.interval(event);
            const bool is_send = is(interval, stages_.send);
            const std::int64_t start_ns = std::clamp(interval.start_ns, at_ns, to_ns);
            const std::int64_t end_ns = std::clamp(interval.end_ns(), start_ns, to_ns);
            if (is_send) {
                add_queue(batches_.track(event), at_ns, start_ns, worker, totals);
            } else {
                totals[held] += start_ns - at_ns;
            }
            const std::string_view name =
                is_send ? "send" : (is(interval, stages_.pin) ? "pin" : "receive");
            totals[{name, interval.stage, is_send ? worker : -1}] += end_ns - start_ns;
            at_ns = end_ns;
            held = Cause{"ready", -1, -1};
        }
        totals[held] += to_ns - at_ns;
    }

    // Before its own send began, the sender may have been busy with another batch.
    void add_queue(const Track& sender, std::int64_t from_ns, std::int64_t to_ns,
                   std::int64_t worker, Totals& totals) {
        sweep(sender, first_overlapping(sender, outermost(sender), from_ns), from_ns,
              to_ns, [&](const Slice& slice) {
                  const bool busy =
                      slice.outermost != nullptr && is(*slice.outermost, stages_.send);
                  const bool summed =
                      slice.outermost == nullptr && !sender.totals.empty();
                  totals[busy     ? Cause{"send", slice.innermost->stage, worker}
                         : summed ? kSummedCause
                                  : Cause()] += slice.dur_ns();
              });
    }

    const std::vector<std::uint32_t>& outermost(const Track& track) {
        const auto [at, is_new] = outermost_.try_emplace(&track);
        if (is_new) {
            at->second = find_outermost(track);
        }
        return at->second;
    }

    const Run& run_;
    const StageNumbers stages_;
    const Batches batches_;
    std::map<const Track*, std::vector<std::uint32_t>> outermost_;
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
                                  const Cause& cause, double share,
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
    std::map<Cause, double> share_errors;
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
        const bool is_rest = cause.name == kUnattributed;
        if (total_ns == 0 && !is_rest) {
            continue;
        }
        WaitCause row;
        row.cause = cause.name;
        row.stage =
            cause.stage < 0 ? "" : run.stages[static_cast<std::size_t>(cause.stage)];
        if (cause.worker >= 0) {
            row.worker = cause.worker;
        }
        row.total_ns = total_ns;
        row.share = share_of(total_ns, all_ns);
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

}  // namespace

std::vector<std::vector<WaitCause>> find_wait_causes(const Run& run,
                                                     std::span<const Pass> passes,
                                                     const PhaseGroups& groups) {
    Slicer slicer(run);
    std::vector<Waits> waits(groups.groups.size());
    for (std::size_t g = 0; g < waits.size(); ++g) {
        for (const std::size_t p : groups.groups[g].passes) {
            const Pass& pass = passes[p];
            const Track& track = run.processes[pass.process].tracks[pass.track];
            for (const Turn& turn : pass.turns) {
                if (turn.follows_gap && !waits[g].others.back().empty()) {
                    waits[g].others.emplace_back();
                }
                for (const std::uint32_t wait : turn.waits) {
                    slicer.add_wait(track, wait, waits[g]);
                }
            }
        }
    }
    for (const auto& [key, loops] : find_loop_groups(passes, groups)) {
        slicer.add_sums(run.processes[key.first].tracks[key.second], loops, waits);
    }
    std::vector<std::vector<WaitCause>> all;
    for (std::size_t g = 0; g < waits.size(); ++g) {
        const bool has_waits = !groups.groups[g].passes.empty();
        all.push_back(has_waits ? to_rows(run, estimate(std::move(waits[g])))
                                : std::vector<WaitCause>());
    }
    return all;
}

}  // namespace metatrain_timing::analyzer
