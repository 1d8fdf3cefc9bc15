#include "analyzer/trace/kineto_loops.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/nesting.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::string_view kRequest = "enumerate(DataLoader)#";
constexpr std::string_view kWorkers = "_MultiProcessingDataLoaderIter";
constexpr std::string_view kOptimizer = "Optimizer.step#";
constexpr std::string_view kZeroGrad = "Optimizer.zero_grad#";
constexpr std::string_view kProfilerStep = "ProfilerStep#";
constexpr std::string_view kAccumulate = "AccumulateGrad";

struct Stretch {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
};

// A request for a batch, and what came of it.
struct Request {
    std::size_t interval = 0;  // on the track
    Stretch body;              // until the next one; empty: nothing came after it
    bool steps = false;        // an optimizer did in the body
    bool accumulates = false;  // gradients of parameters were added up in the body
    std::optional<std::int32_t> profiler_step;  // the number of the one around it
    enum class Kind : std::uint8_t { train, evaluation, end } kind = Kind::train;
};

// The kinds of names, by number of the stage.
class Names {
  public:
    explicit Names(Run& run) : run_(run) {
        for (const std::string& name : run.stages) {
            waits_.push_back(name.starts_with(kRequest));
            optimizers_.push_back(name.starts_with(kOptimizer));
            zero_grads_.push_back(name.starts_with(kZeroGrad));
            profiler_steps_.push_back(name.starts_with(kProfilerStep));
            nodes_.push_back(name.starts_with(kAutogradNode));
            accumulations_.push_back(name.ends_with(kAccumulate));
        }
    }

    bool is_wait(const Interval& one) const { return waits_[one.stage]; }
    bool is_optimizer(const Interval& one) const { return optimizers_[one.stage]; }
    bool is_zero_grad(const Interval& one) const { return zero_grads_[one.stage]; }
    bool is_profiler_step(const Interval& one) const {
        return profiler_steps_[one.stage];
    }
    bool is_node(const Interval& one) const { return nodes_[one.stage]; }
    bool is_accumulation(const Interval& one) const {
        return is_node(one) && accumulations_[one.stage];
    }
    bool is_program(const Interval& one) const {
        return !is_wait(one) && !is_optimizer(one) && !is_zero_grad(one) &&
               !is_profiler_step(one) && !is_node(one);
    }

    bool has_workers(const Interval& wait) const {
        return run_.stages[wait.stage].find(kWorkers) != std::string::npos;
    }
    std::optional<std::int32_t> number_of(const Interval& profiler_step) const {
        const std::string_view name = run_.stages[profiler_step.stage];
        const std::string_view digits = name.substr(kProfilerStep.size());
        std::int32_t number = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), number);
        return error == std::errc() && number >= 0 ? std::optional(number)
                                                   : std::nullopt;
    }

    /// The stage of this name, made where it is not there.
    std::uint16_t stage(const std::string& name) {
        const auto found = std::find(run_.stages.begin(), run_.stages.end(), name);
        const auto number = found - run_.stages.begin();
        if (found == run_.stages.end()) {
            run_.stages.push_back(name);
            for (auto* kinds : {&waits_, &optimizers_, &zero_grads_, &profiler_steps_,
                                &accumulations_, &nodes_}) {
                kinds->push_back(false);
            }
        }
        return static_cast<std::uint16_t>(number);
    }

  private:
    Run& run_;
    std::vector<bool> waits_;
    std::vector<bool> optimizers_;
    std::vector<bool> zero_grads_;
    std::vector<bool> profiler_steps_;
    std::vector<bool> nodes_;
    std::vector<bool> accumulations_;
};

// How many bodies an optimizer's step takes: the distance that is most common.
std::size_t bodies_of_a_step(const std::vector<Request>& requests) {
    std::map<std::size_t, std::size_t> counts;
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].steps) {
            if (last) {
                ++counts[i - *last];
            }
            last = i;
        }
    }
    const auto most = std::max_element(
        counts.begin(), counts.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? 1 : most->first;
}

// Requests [from, to) saw no optimizer. After training the first found no more batches;
// what follows evaluates, and its last one found no more either.
void mark_pause(std::vector<Request>& requests, std::size_t from, std::size_t to) {
    if (from == to) {
        return;
    }
    const bool follows_training = from > 0;
    for (std::size_t i = from; i < to; ++i) {
        requests[i].kind = Request::Kind::evaluation;
    }
    if (follows_training) {
        requests[from].kind = Request::Kind::end;
    }
    requests[to - 1].kind = Request::Kind::end;
}

// Which requests train, which evaluate, and which found that there was no more.
void tell_apart(std::vector<Request>& requests) {
    const bool knows_gradients =
        std::any_of(requests.begin(), requests.end(),
                    [](const Request& request) { return request.accumulates; });
    const std::size_t micro = knows_gradients ? 0 : bodies_of_a_step(requests) - 1;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= requests.size(); ++i) {
        const bool is_over = i == requests.size();
        if (!is_over && !requests[i].steps && !requests[i].accumulates) {
            continue;
        }
        // Where single gradients are not on record, the last ones before a step are its
        // own micro-steps.
        const std::size_t own = is_over ? 0 : std::min(micro, i - begin);
        mark_pause(requests, begin, i - own);
        begin = i + 1;
    }
}

// Makes loops of what one thread of a training process did.
class ThreadLoops {
  public:
    /// `accumulations`: when gradients were added up, by any thread of the process;
    /// sorted.
    ThreadLoops(Run& run, Names& names, std::int32_t process, std::size_t track,
                const std::vector<std::int64_t>& accumulations)
        : run_(run),
          names_(names),
          process_(process),
          number_(track),
          accumulations_(accumulations) {}

    void find() {
        std::vector<Request> requests = find_requests();
        if (requests.empty()) {
            return;
        }
        tell_apart(requests);
        add_turns(requests);
        for (const Interval& interval : added_) {
            track().intervals.push_back(interval);
        }
        track().cpu_ns.clear();
        sort_and_nest(track());
    }

  private:
    Process& process() { return run_.processes[static_cast<std::size_t>(process_)]; }
    Track& track() { return process().tracks[number_]; }

    std::vector<Request> find_requests() {
        const std::vector<Interval>& intervals = track().intervals;
        std::vector<Request> requests;
        std::vector<const Interval*> profiler_steps;
        std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
        for (std::size_t i = 0; i < intervals.size(); ++i) {
            end_ns = std::max(end_ns, intervals[i].end_ns());
            if (names_.is_wait(intervals[i])) {
                requests.emplace_back().interval = i;
            } else if (names_.is_profiler_step(intervals[i])) {
                profiler_steps.push_back(&intervals[i]);
            }
        }
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const std::int64_t from_ns = intervals[requests[i].interval].end_ns();
            std::int64_t to_ns = i + 1 < requests.size()
                                     ? intervals[requests[i + 1].interval].start_ns
                                     : end_ns;
            const auto after =
                std::upper_bound(profiler_steps.begin(), profiler_steps.end(), from_ns,
                                 [](std::int64_t ns, const Interval* one) {
                                     return ns < one->start_ns;
                                 });
            if (after != profiler_steps.begin() &&
                from_ns < (*std::prev(after))->end_ns()) {
                const Interval& step = **std::prev(after);
                to_ns = std::min(to_ns, step.end_ns());
                requests[i].profiler_step = names_.number_of(step);
            }
            requests[i].body = {from_ns, std::max(from_ns, to_ns)};
            const auto first =
                std::lower_bound(accumulations_.begin(), accumulations_.end(), from_ns);
            requests[i].accumulates = first != accumulations_.end() && *first < to_ns;
        }
        std::size_t at = 0;
        for (const Interval& interval : intervals) {
            while (at < requests.size() &&
                   requests[at].body.to_ns <= interval.start_ns) {
                ++at;
            }
            if (at < requests.size() && names_.is_optimizer(interval) &&
                requests[at].body.from_ns <= interval.start_ns) {
                requests[at].steps = true;
            }
        }
        return requests;
    }

    void add_turns(const std::vector<Request>& requests) {
        auto pass = Request::Kind::end;  // none
        std::int32_t done = 0;           // optimizer steps
        for (const Request& request : requests) {
            Interval& wait = track().intervals[request.interval];
            if (request.kind == Request::Kind::end) {
                if (pass != Request::Kind::end) {
                    finish_pass(wait.end_ns());
                    wait.iterator = pass_;
                }
                wait.stage = names_.stage("loader_end");
                pass = Request::Kind::end;
                continue;
            }
            if (pass != request.kind) {
                begin_pass(request.kind, wait);
                pass = request.kind;
            }
            wait.stage = names_.stage("loader");
            add_body(request, wait, done);
            done += request.steps ? 1 : 0;
            ++batch_;
        }
    }

    void begin_pass(Request::Kind kind, const Interval& wait) {
        const std::int32_t loader = loader_of(wait);
        Iterator iterator;
        iterator.loader = loader;
        iterator.number = static_cast<std::int64_t>(run_.iterators.size()) + 1;
        iterator.epoch = epochs_[kind]++;
        iterator.phase = kind == Request::Kind::train ? "train" : "evaluation";
        iterator.started_ns = wait.start_ns;
        iterator.first_wait_ns = wait.start_ns;
        run_.iterators.push_back(std::move(iterator));
        pass_ = static_cast<std::int32_t>(run_.iterators.size()) - 1;
        batch_ = 0;
    }

    void finish_pass(std::int64_t end_ns) {
        Iterator& iterator = run_.iterators[static_cast<std::size_t>(pass_)];
        iterator.ended_ns = end_ns;
        iterator.exhausted = true;
    }

    std::int32_t loader_of(const Interval& wait) {
        for (std::size_t i = 0; i < run_.loaders.size(); ++i) {
            if (run_.loaders[i].process == process_) {
                return static_cast<std::int32_t>(i);
            }
        }
        Loader loader;
        loader.process = process_;
        loader.number = 1;
        loader.name = "DataLoader";
        loader.in_order = true;
        // How many is not in the trace, nor what they did.
        loader.num_workers = names_.has_workers(wait) ? 1 : 0;
        run_.loaders.push_back(std::move(loader));
        return static_cast<std::int32_t>(run_.loaders.size()) - 1;
    }

    void add_body(const Request& request, const Interval& wait, std::int32_t done) {
        const std::int32_t step = request.profiler_step.value_or(done);
        std::optional<Stretch> backward;
        std::int64_t named_until_ns = std::numeric_limits<std::int64_t>::min();
        Interval body = wait;
        body.stage = names_.stage("step");
        body.start_ns = request.body.from_ns;
        body.dur_ns = request.body.to_ns - request.body.from_ns;
        for (std::size_t i = request.interval; i < track().intervals.size(); ++i) {
            Interval& interval = track().intervals[i];
            if (interval.start_ns >= request.body.to_ns && i != request.interval) {
                break;
            }
            interval.step = step;
            interval.iterator = pass_;
            interval.batch = batch_;
            if (names_.is_optimizer(interval)) {
                interval.stage = names_.stage("optimizer");
            } else if (names_.is_zero_grad(interval)) {
                interval.stage = names_.stage("zero_grad");
            } else if (names_.is_program(interval) && i != request.interval) {
                named_until_ns = std::max(named_until_ns, interval.end_ns());
            } else if (names_.is_node(interval) &&
                       interval.start_ns >= named_until_ns) {
                // Not of a gradient that the program's forward asks for.
                if (!backward) {
                    backward = {interval.start_ns, interval.end_ns()};
                }
                backward->to_ns = std::max(backward->to_ns, interval.end_ns());
            }
        }
        body.step = step;
        body.iterator = pass_;
        body.batch = batch_;
        added_.push_back(body);
        if (backward) {
            Interval one = body;
            one.stage = names_.stage("backward");
            one.start_ns = backward->from_ns;
            one.dur_ns = std::min(backward->to_ns, body.end_ns()) - backward->from_ns;
            added_.push_back(one);
        }
    }

    Run& run_;
    Names& names_;
    const std::int32_t process_;
    const std::size_t number_;
    const std::vector<std::int64_t>& accumulations_;
    std::map<Request::Kind, std::int64_t> epochs_;
    std::int32_t pass_ = -1;
    std::int32_t batch_ = 0;
    std::vector<Interval> added_;
};

std::vector<std::int64_t> find_accumulations(const Process& process,
                                             const Names& names) {
    std::vector<std::int64_t> times_ns;
    for (const Track& track : process.tracks) {
        for (const Interval& interval : track.intervals) {
            if (names.is_accumulation(interval)) {
                times_ns.push_back(interval.start_ns);
            }
        }
    }
    std::sort(times_ns.begin(), times_ns.end());
    return times_ns;
}

// What is not the program's own: autograd's nodes, and steps that enclose waits.
void drop_helpers(Track& track, const Names& names) {
    std::erase_if(track.intervals, [&](const Interval& one) {
        return names.is_node(one) || names.is_profiler_step(one);
    });
}

}  // namespace

void find_kineto_loops(Run& run) {
    Names names(run);
    for (std::size_t p = 0; p < run.processes.size(); ++p) {
        const std::vector<std::int64_t> accumulations =
            find_accumulations(run.processes[p], names);
        for (std::size_t t = 0; t < run.processes[p].tracks.size(); ++t) {
            Track& track = run.processes[p].tracks[t];
            track.cpu_ns.clear();
            if (run.processes[p].role == Role::main) {
                ThreadLoops(run, names, static_cast<std::int32_t>(p), t, accumulations)
                    .find();
            }
            drop_helpers(track, names);
        }
    }
}

}  // namespace metatrain_timing::analyzer
