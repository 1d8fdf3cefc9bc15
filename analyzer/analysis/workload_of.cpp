#include "analyzer/analysis/workload_of.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "analyzer/analysis/batch_lives.hpp"
#include "analyzer/analysis/cpu_use.hpp"
#include "analyzer/analysis/granted_cpus.hpp"
#include "analyzer/analysis/sweep.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Turns of a window in the middle of a pass that only fill the queues again.
constexpr std::size_t kFillingTurns = 32;

class Mean {
  public:
    void add(double value) {
        sum_ += value;
        ++count_;
    }
    bool is_known() const { return count_ > 0; }
    double value() const { return is_known() ? sum_ / static_cast<double>(count_) : 0; }

  private:
    double sum_ = 0;
    std::size_t count_ = 0;
};

double quantile_of(std::vector<double> values, double part) {
    if (values.empty()) {
        return 0;
    }
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(
                                         part * static_cast<double>(values.size()));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

double median_of(const std::vector<double>& values) {
    return quantile_of(values, 0.5);
}

double mean_or_zero(const std::vector<double>& values) {
    Mean mean;
    for (const double value : values) {
        mean.add(value);
    }
    return mean.value();
}

// Of what may hold waits for a core, which are not to be counted: those come on top.
double undisturbed(const std::vector<double>& values) {
    return std::max(0.0, quantile_of(values, 0.1));
}

Work work_of(const Span& span) {
    return {static_cast<double>(span.dur_ns()),
            static_cast<double>(std::max<std::int64_t>(span.cpu_ns, 0))};
}

template <typename Visit>
void for_each_begun(const Track& track, std::int64_t from_ns, std::int64_t until_ns,
                    Visit visit) {
    auto at = std::lower_bound(track.intervals.begin(), track.intervals.end(), from_ns,
                               [](const Interval& interval, std::int64_t time_ns) {
                                   return interval.start_ns < time_ns;
                               });
    for (; at != track.intervals.end() && at->start_ns < until_ns; ++at) {
        visit(*at);
    }
}

// A stretch of one pass: turns [first, last) of those on record.
struct Window {
    const Pass* pass = nullptr;
    const std::vector<bool>* steady = nullptr;
    std::size_t first = 0;
};

class WorkloadFinder {
  public:
    WorkloadFinder(const Findings& findings, double body_cpus)
        : run_(findings.run()),
          index_(findings.batches()),
          stages_(findings.stages()),
          body_cpus_(body_cpus) {}

    RecordedWorkload find(const std::vector<Window>& windows, std::int32_t loader) {
        set_settings(loader);
        for (const Window& window : windows) {
            add_pass(window);
        }
        finish();
        return std::move(result_);
    }

  private:
    void set_settings(std::int32_t loader) {
        const Loader& from = run_.loaders[static_cast<std::size_t>(loader)];
        result_.settings.num_workers = from.num_workers;
        result_.settings.prefetch_factor = from.prefetch_factor.value_or(2);
        result_.settings.in_order = from.in_order;
        result_.settings.persistent_workers = from.persistent_workers;
        result_.settings.pin_memory = from.pin_memory;
        result_.cpus = static_cast<double>(from.num_workers + 1);
        if (from.process >= 0) {
            const auto owner = static_cast<std::size_t>(from.process);
            const auto granted = granted_cpus(run_.processes[owner].environment);
            result_.knows_cpus = granted.has_value();
            result_.cpus = granted.value_or(result_.cpus);
        }
    }

    void add_pass(const Window& window) {
        const Pass& pass = *window.pass;
        PassWork work;
        const bool whole = window.first == 0 && !pass.summed;
        work.exhausted = whole && pass.exhausted;
        const Track& track = run_.processes[pass.process].tracks[pass.track];
        std::optional<BatchLife> first;
        for (std::size_t i = window.first; i < pass.turns.size(); ++i) {
            const Turn& turn = pass.turns[i];
            if (turn.wait_count != 1 || !turn.body) {
                continue;  // cut short, or in part only summed
            }
            const BatchLife life = find_batch_life(
                stages_, index_, track, pass.waits_of(turn).front(), turn.body);
            first = first ? first : life;
            const bool filling = window.first > 0 && i < window.first + kFillingTurns;
            add_batch(work, life, (*window.steady)[i] && !filling);
        }
        work.turns = work.batches.size();
        if (work.turns == 0) {
            return;
        }
        begun_ns_ = main_ == nullptr ? first->wait->start_ns : begun_ns_;
        ended_ns_ = pass.end_ns;
        owner_ = &run_.processes[pass.process];
        main_ = &owner_->tracks[pass.track];
        if (whole) {
            add_start(work, pass, *first);
        }
        result_.turns += work.turns;
        result_.work.passes.push_back(std::move(work));
    }

    void add_batch(PassWork& pass, const BatchLife& life, bool steady) {
        BatchWork batch;
        batch.steady = steady;
        const auto wall = static_cast<double>(life.body->dur_ns());
        batch.body = {wall, wall * body_cpus_};
        if (life.put) {
            const auto put_ns = static_cast<double>(life.put->dur_ns());
            batch.put = computing(put_ns);
            put_.add(put_ns);
        }
        if (life.fetch) {
            batch.fetch = work_of(*life.fetch);
            if (is_first_of_worker(life)) {
                note_first(pass, batch);
            } else {
                fetches_.push_back(batch.fetch.wall_ns);
            }
            fetch_.add(batch.fetch.wall_ns);
            ++result_.fetches;
        } else {
            unknown_.emplace_back(result_.work.passes.size(), pass.batches.size());
        }
        if (life.send) {
            batch.send = work_of(*life.send);
            note_latency(life);
        }
        if (life.receive) {
            const auto receive_ns = static_cast<double>(life.receive->dur_ns());
            batch.receive = computing(receive_ns);
            const bool busy = was_fetching(life);
            (busy ? receive_busy_ : receive_idle_).push_back(receive_ns);
            received_.push_back(
                {result_.work.passes.size(), pass.batches.size(), busy});
            result_.knows_transport = true;
        }
        if (life.pin) {
            batch.pin = computing(static_cast<double>(life.pin->dur_ns()));
        }
        if (steady) {
            wait_.add(static_cast<double>(life.wait->dur_ns()));
            body_.add(wall);
        }
        pass.batches.push_back(batch);
    }

    // A worker's first batch also opens files and fills caches: that is not the
    // batch's, but any first one's.
    bool is_first_of_worker(const BatchLife& life) {
        return life.process && run_.processes[*life.process].role == Role::worker &&
               !has_fetched_[*life.process]++;
    }

    void note_first(const PassWork& pass, const BatchWork& batch) {
        firsts_.emplace_back(result_.work.passes.size(), pass.batches.size());
        first_ns_.push_back(batch.fetch.wall_ns);
    }

    // Where each side waited for the other, what went by until it noticed.
    void note_latency(const BatchLife& life) {
        if (life.receive && life.wait && !life.pin &&
            life.wait->start_ns < life.send->start_ns &&
            life.receive->start_ns > life.send->end_ns) {
            batch_latency_.push_back(
                static_cast<double>(life.receive->start_ns - life.send->end_ns));
        }
        if (life.put && life.fetch && life.process) {
            const auto was_idle_ns = idle_since(life);
            if (was_idle_ns && *was_idle_ns < life.put->start_ns) {
                index_latency_.push_back(
                    static_cast<double>(life.fetch->start_ns - life.put->end_ns));
            }
        }
    }

    // Whether the batch's worker was at another one while it was received.
    bool was_fetching(const BatchLife& life) {
        for (const BatchEvent& event : index_.of(life.iterator, life.batch)) {
            const Track& track = index_.track(event);
            if (!is(index_.interval(event), stages_.fetch) ||
                index_.process(event).role != Role::worker) {
                continue;
            }
            const auto [outermost, is_new] = outermost_.try_emplace(&track);
            if (is_new) {
                outermost->second = find_outermost(track);
            }
            const Interval& then = track.intervals[first_overlapping(
                track, outermost->second, life.receive->start_ns)];
            return is(then, stages_.fetch) && then.end_ns() > life.receive->start_ns;
        }
        return false;
    }

    // Receiving is told apart by what the worker did meanwhile. Where it was never idle
    // the shortest times tell what that would be like.
    void set_receive() {
        const double busy_ns = mean_or_zero(receive_busy_);
        const double idle_ns = receive_idle_.empty() ? undisturbed(receive_busy_)
                                                     : mean_or_zero(receive_idle_);
        if (busy_ns <= idle_ns || idle_ns <= 0) {
            return;
        }
        const double factor = busy_ns / idle_ns;
        result_.work.receive_busy_factor = factor;
        for (const Received& one : received_) {
            if (one.busy && one.pass < result_.work.passes.size()) {
                Work& work = result_.work.passes[one.pass].batches[one.batch].receive;
                work = computing(work.wall_ns / factor);
            }
        }
    }

    // When the worker began to wait for the index of this batch.
    std::optional<std::int64_t> idle_since(const BatchLife& life) const {
        for (const BatchEvent& event : index_.of(life.iterator, life.batch)) {
            const Track& track = index_.track(event);
            if (is(index_.interval(event), stages_.fetch) && event.interval > 0) {
                const Interval& before = track.intervals[event.interval - 1];
                if (is(before, stages_.worker_idle)) {
                    return before.start_ns;
                }
            }
        }
        return std::nullopt;
    }

    // What the training process does between making the iterator and the first wait,
    // and what making its workers takes.
    void add_start(PassWork& work, const Pass& pass, const BatchLife& first) {
        const Track& track = run_.processes[pass.process].tracks[pass.track];
        const auto at = static_cast<std::size_t>(first.iterator);
        std::int64_t made_ns = first.wait->start_ns;
        for_each_begun(track, run_.iterators[at].started_ns, first.wait->start_ns,
                       [&](const Interval& interval) {
                           const bool makes = is(interval, stages_.worker_start);
                           if (interval.iterator == first.iterator &&
                               (makes || is(interval, stages_.worker_resume))) {
                               made_ns = interval.end_ns();
                           }
                           if (interval.iterator == first.iterator && makes) {
                               note_making(track, interval);
                           }
                       });
        work.before_first_wait =
            waiting(static_cast<double>(first.wait->start_ns - made_ns));
    }

    void note_making(const Track& track, const Interval& making) {
        double rest_ns = static_cast<double>(making.dur_ns);
        for_each_begun(track, making.start_ns, making.end_ns(),
                       [&](const Interval& part) {
                           if (is(part, stages_.put_index)) {
                               rest_ns -= static_cast<double>(part.dur_ns);
                           }
                       });
        if (result_.settings.num_workers > 0) {
            make_worker_.add(rest_ns /
                             static_cast<double>(result_.settings.num_workers));
        }
    }

    void finish() {
        Workload& work = result_.work;
        const double usual_ns = median_of(fetches_);
        if (!fetches_.empty() && !first_ns_.empty()) {
            work.first_fetch = waiting(std::max(0.0, median_of(first_ns_) - usual_ns));
            for (const auto& [pass, batch] : firsts_) {
                if (pass < work.passes.size()) {
                    Work& fetch = work.passes[pass].batches[batch].fetch;
                    fetch.wall_ns = std::min(fetch.wall_ns, usual_ns);
                    fetch.cpu_ns = std::min(fetch.cpu_ns, fetch.wall_ns);
                }
            }
        }
        for (const auto& [pass, batch] : unknown_) {
            if (pass < work.passes.size()) {
                work.passes[pass].batches[batch].fetch = waiting(usual_ns);
            }
        }
        work.sampler = computing(put_.value());
        work.make_worker = computing(make_worker_.value());
        work.index_latency_ns = undisturbed(index_latency_);
        work.batch_latency_ns = undisturbed(batch_latency_);
        set_worker_start();
        set_receive();
        set_queued();
        result_.body_cpus = body_cpus_;
        result_.wait_ns = wait_.value();
        result_.body_ns = body_.value();
        result_.fetch_ns = fetch_.value();
    }

    // By the kernel's count of each thread, which does not tell stages apart: a
    // worker's is of its fetches, the training thread's of its bodies (and of fetches,
    // in proportion, where it makes the batches).
    void set_queued() {
        Mean of_fetch;
        for (const auto& [process, count] : has_fetched_) {
            for (const Track& track : run_.processes[process].tracks) {
                add_queued(track, of_fetch);
            }
        }
        result_.fetch_queued_ns = of_fetch.value();
        const bool fetches = result_.settings.num_workers == 0;
        const double working_ns = body_.value() + (fetches ? fetch_.value() : 0);
        if (main_ == nullptr || working_ns <= 0) {
            return;
        }
        // Of all threads of the process, as a step goes on when the last of those that
        // share it is done; of the loop's alone where that is all there is.
        auto use = cpu_use_between(owner_->cpu_usage, begun_ns_, ended_ns_);
        if (!use || use->queued_ns < 0) {
            use = cpu_use_between(main_->cpu_usage, begun_ns_, ended_ns_);
        }
        if (!use || use->queued_ns < 0) {
            return;
        }
        const double queued_ns = use->queued_ns / static_cast<double>(use->wall_ns) *
                                 (wait_.value() + body_.value());
        result_.body_queued_ns = queued_ns * body_.value() / working_ns;
        if (fetches) {
            result_.fetch_queued_ns = queued_ns * fetch_.value() / working_ns;
        }
    }

    void add_queued(const Track& track, Mean& mean) const {
        if (track.cpu_usage.size() < 2 || track.cpu_usage.front().queued_ns < 0) {
            return;
        }
        const CpuReading& from = track.cpu_usage.front();
        const CpuReading& to = track.cpu_usage.back();
        const auto fetches = std::count_if(
            track.intervals.begin(), track.intervals.end(), [&](const Interval& one) {
                return is(one, stages_.fetch) && one.end_ns() > from.at_ns &&
                       one.end_ns() <= to.at_ns;
            });
        if (fetches > 0) {
            mean.add(static_cast<double>(to.queued_ns - from.queued_ns) /
                     static_cast<double>(fetches));
        }
    }

    void set_worker_start() {
        Mean start;
        for (const auto& [process, count] : has_fetched_) {
            for (const Track& track : run_.processes[process].tracks) {
                if (!track.intervals.empty() &&
                    is(track.intervals.front(), stages_.worker_start)) {
                    start.add(static_cast<double>(track.intervals.front().dur_ns));
                }
            }
        }
        result_.knows_worker_start = start.is_known();
        result_.work.worker_start = waiting(start.value());
    }

    const Run& run_;
    const BatchIndex& index_;
    const StageNumbers& stages_;
    const double body_cpus_;
    RecordedWorkload result_;
    const Process* owner_ = nullptr;  // of the loop
    const Track* main_ = nullptr;
    std::int64_t begun_ns_ = 0;  // of all passes
    std::int64_t ended_ns_ = 0;
    std::map<std::size_t, int> has_fetched_;                   // by process
    std::vector<std::pair<std::size_t, std::size_t>> firsts_;  // pass, batch
    std::vector<double> first_ns_;
    std::vector<std::pair<std::size_t, std::size_t>> unknown_;  // who fetched them
    struct Received {
        std::size_t pass = 0;
        std::size_t batch = 0;
        bool busy = false;  // its worker
    };
    std::vector<Received> received_;
    std::vector<double> receive_busy_;
    std::vector<double> receive_idle_;
    std::map<const Track*, std::vector<std::uint32_t>> outermost_;
    std::vector<double> fetches_;
    std::vector<double> index_latency_;
    std::vector<double> batch_latency_;
    Mean put_;
    Mean fetch_;
    Mean wait_;
    Mean body_;
    Mean make_worker_;
};

// The last `max_turns` turns of the passes of the group's first rank.
std::vector<Window> choose_windows(std::span<const Pass> passes,
                                   const PhaseGroup& group, const StepSeries& steps,
                                   std::size_t max_turns) {
    std::vector<Window> windows;
    std::size_t left = max_turns;
    const std::size_t process = passes[group.passes.front()].process;
    for (std::size_t i = group.passes.size(); i-- > 0 && left > 0;) {
        const Pass& pass = passes[group.passes[i]];
        if (pass.process != process || pass.turns.empty()) {
            continue;
        }
        const std::size_t count = std::min(left, pass.turns.size());
        windows.push_back({&pass, &steps.steady_turns[i], pass.turns.size() - count});
        left -= count;
    }
    std::reverse(windows.begin(), windows.end());
    return windows;
}

}  // namespace

std::optional<RecordedWorkload> find_workload(const Findings& findings,
                                              std::size_t group_number,
                                              double body_cpus, std::size_t max_turns,
                                              std::string& reason) {
    const PhaseGroup& group = findings.groups().groups[group_number];
    const StepSeries& steps = findings.series()[group_number];
    if (group.passes.empty() || steps.steps == 0) {
        reason = "there is no complete step";
        return std::nullopt;
    }
    const Run& run = findings.run();
    const std::vector<Pass>& passes = findings.passes();
    const Pass& first = passes[group.passes.front()];
    std::vector<std::int32_t> loaders;
    for (const std::int32_t loader : group.loaders) {
        if (run.loaders[static_cast<std::size_t>(loader)].process ==
            static_cast<std::int32_t>(first.process)) {
            loaders.push_back(loader);
        }
    }
    if (loaders.size() != 1) {
        reason = loaders.empty() ? "the loop has no DataLoader"
                                 : "the loop is over several DataLoaders";
        return std::nullopt;
    }
    WorkloadFinder finder(findings, body_cpus);
    RecordedWorkload found =
        finder.find(choose_windows(passes, group, steps, max_turns), loaders.front());
    if (found.work.passes.empty()) {
        reason = "no turn is on record one by one";
        return std::nullopt;
    }
    if (found.fetches * 2 < found.turns) {
        reason = "what making the batches took is not on record";
        return std::nullopt;
    }
    return found;
}

}  // namespace metatrain_timing::analyzer
