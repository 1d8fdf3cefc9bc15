#include "analyzer/trace/run_from_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "analyzer/load/nesting.hpp"
#include "analyzer/trace/exported_run.hpp"
#include "analyzer/trace/json_values.hpp"
#include "analyzer/trace/kineto_loops.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kMostNames = 65535;

std::int32_t index_or_none(const std::map<std::string, std::string>& values,
                           const char* name) {
    const auto found = values.find(name);
    if (found == values.end()) {
        return -1;
    }
    const auto number = to_number<std::int32_t>(found->second);
    return number && *number >= 0 ? *number : -1;
}

// Calls `place(start_ns) -> Track&` for each row and moves it there.
template <typename Place>
void distribute(Track& from, std::size_t iterators, Place place) {
    const auto known = [&](std::int32_t& iterator) {
        iterator = iterator >= 0 && static_cast<std::size_t>(iterator) < iterators
                       ? iterator
                       : -1;
    };
    for (std::size_t i = 0; i < from.intervals.size(); ++i) {
        known(from.intervals[i].iterator);
        Track& to = place(from.intervals[i].start_ns);
        to.intervals.push_back(from.intervals[i]);
        to.cpu_ns.push_back(from.cpu_ns[i]);
    }
    for (Interval& open : from.open) {
        known(open.iterator);
        place(open.start_ns).open.push_back(open);
    }
    for (Counter& counter : from.counters) {
        known(counter.iterator);
        place(counter.at_ns).counters.push_back(counter);
    }
    from = {};
}

void sort_and_nest_all(Run& run) {
    for (Process& process : run.processes) {
        for (Track& track : process.tracks) {
            sort_and_nest(track);
            std::vector<std::int64_t> ends;
            for (Interval& interval : track.intervals) {
                while (!ends.empty() && ends.back() <= interval.start_ns) {
                    ends.pop_back();
                }
                interval.depth = static_cast<std::uint16_t>(
                    std::min<std::size_t>(ends.size(), 65535));
                ends.push_back(interval.end_ns());
            }
        }
    }
}

}  // namespace

bool RunFromTrace::is_wanted(const TraceEvent& event) const {
    // Of torch.profiler: what the program named, its loaders and optimizers among it;
    // and, to know when a backward ran, the nodes of that.
    return source_ != TraceSource::kineto || event.category == "user_annotation" ||
           event.name.starts_with(kAutogradNode);
}

void RunFromTrace::add(const TraceEvent& event) {
    switch (event.phase) {
        case 'X':
            return is_wanted(event) ? add_slice(event) : void();
        case 'B':
            return is_wanted(event) ? add_begin(event) : void();
        case 'E':
            return add_end(event);
        case 'C':
            return add_counter(event);
        case 'M':
            return add_names(event);
        default:
            return;
    }
}

bool RunFromTrace::set_name(std::vector<std::string>& names,
                            std::unordered_map<std::string, std::uint16_t>& known,
                            const std::string& name, std::uint16_t& number) {
    const auto found = known.find(name);
    if (found != known.end()) {
        number = found->second;
        return true;
    }
    if (names.size() >= kMostNames) {
        ++impossible_count_;
        return false;
    }
    number = static_cast<std::uint16_t>(names.size());
    known.emplace(name, number);
    names.push_back(name);
    return true;
}

bool RunFromTrace::make_interval(const TraceEvent& event, Interval& interval) {
    if (!event.ts_ns || !set_name(run_.stages, stages_, event.name, interval.stage)) {
        impossible_count_ += event.ts_ns ? 0 : 1;
        return false;
    }
    interval.start_ns = *event.ts_ns;
    interval.step = index_or_none(event.args, "step");
    interval.iterator = index_or_none(event.args, "iterator");
    interval.batch = index_or_none(event.args, "batch");
    return true;
}

void RunFromTrace::add_slice(const TraceEvent& event) {
    std::int64_t end_ns = 0;
    if (!event.ts_ns || event.dur_ns.value_or(0) < 0 ||
        __builtin_add_overflow(*event.ts_ns, event.dur_ns.value_or(0), &end_ns)) {
        ++impossible_count_;
        return;
    }
    Interval interval;
    if (make_interval(event, interval)) {
        interval.dur_ns = event.dur_ns.value_or(0);
        Track& track = thread_of(event).track;
        track.intervals.push_back(interval);
        const auto cpu = event.args.find("cpu_us");
        track.cpu_ns.push_back(
            cpu == event.args.end() ? -1 : parse_us(cpu->second).value_or(-1));
    }
}

void RunFromTrace::add_begin(const TraceEvent& event) {
    Interval interval;
    if (make_interval(event, interval)) {
        thread_of(event).begun.push_back(interval);
    }
}

void RunFromTrace::add_end(const TraceEvent& event) {
    Thread& thread = thread_of(event);
    if (thread.begun.empty()) {
        return;  // of something that began before the trace, or is not wanted
    }
    Interval interval = thread.begun.back();
    if (!event.ts_ns || *event.ts_ns < interval.start_ns) {
        ++impossible_count_;
        return;
    }
    if (!event.name.empty() && event.name != run_.stages[interval.stage]) {
        return;
    }
    thread.begun.pop_back();
    interval.dur_ns = *event.ts_ns - interval.start_ns;
    thread.track.intervals.push_back(interval);
    thread.track.cpu_ns.push_back(-1);
}

void RunFromTrace::add_counter(const TraceEvent& event) {
    for (const auto& [name, value] : event.args) {
        const auto number = to_number<double>(value);
        Counter counter;
        const std::string whole =
            name == "value" ? event.name : fmt::format("{} {}", event.name, name);
        if (!event.ts_ns || !number ||
            !(std::abs(*number) < std::numeric_limits<double>::infinity()) ||
            !set_name(run_.counter_names, counters_, whole, counter.name)) {
            ++impossible_count_;
            continue;
        }
        counter.at_ns = *event.ts_ns;
        counter.value = *number;
        counter.step = index_or_none(event.others, "step");
        counter.iterator = index_or_none(event.others, "iterator");
        counter.batch = index_or_none(event.others, "batch");
        thread_of(event).track.counters.push_back(counter);
    }
}

void RunFromTrace::add_names(const TraceEvent& event) {
    const auto name = event.args.find("name");
    if (name == event.args.end()) {
        return;
    }
    if (event.name == "process_name") {
        file_.process_names[event.pid] = name->second;
    } else if (event.name == "thread_name") {
        thread_of(event).name = name->second;
    }
}

void RunFromTrace::end_file(const Json& members) {
    file_.members = members;
    for (auto& [place, thread] : file_.threads) {
        thread.track.open = std::move(thread.begun);
        for (Interval& open : thread.track.open) {
            open.dur_ns = 0;
        }
    }
    files_.push_back(std::move(file_));
    file_ = {};
}

Run RunFromTrace::finish() {
    if (files_.size() == 1 && ExportedRun::is_in(files_.front().members)) {
        make_exported(files_.front());
    } else {
        for (std::size_t i = 0; i < files_.size(); ++i) {
            const auto info = files_[i].members.find("distributedInfo");
            const bool knows = info != files_[i].members.end() && info->is_object();
            const auto own = static_cast<std::int64_t>(i);
            const auto count = static_cast<std::int64_t>(files_.size());
            make_processes(files_[i], knows ? integer_of(*info, "rank", own) : own,
                           knows ? integer_of(*info, "world_size", count) : count);
        }
    }
    files_.clear();
    sort_and_nest_all(run_);
    if (source_ == TraceSource::kineto) {
        find_kineto_loops(run_);
    }
    return std::move(run_);
}

// As it was before `mt-analyze export`: a life of a worker is where its times are.
void RunFromTrace::make_exported(File& file) {
    ExportedRun exported(file.members["metadata"]);
    for (auto& [place, thread] : file.threads) {
        distribute(
            thread.track, exported.run().iterators.size(),
            [&, &pid = place.first, &tid = place.second](std::int64_t ns) -> Track& {
                return exported.track_at(pid, tid, ns);
            });
    }
    std::vector<std::string> stages = std::move(run_.stages);
    std::vector<std::string> counter_names = std::move(run_.counter_names);
    run_ = std::move(exported.run());
    run_.stages = std::move(stages);
    run_.counter_names = std::move(counter_names);
    for (Process& process : run_.processes) {
        for (Track& track : process.tracks) {
            if (std::all_of(track.cpu_ns.begin(), track.cpu_ns.end(),
                            [](std::int64_t ns) { return ns < 0; })) {
                track.cpu_ns.clear();
            }
        }
    }
}

// The process with most intervals trains, others are its children.
void RunFromTrace::make_processes(File& file, std::int64_t rank,
                                  std::int64_t world_size) {
    std::map<std::string, std::size_t> number_of;  // by pid
    std::map<std::string, std::size_t> count_of;
    for (auto& [place, thread] : file.threads) {
        const std::string& pid = place.first;
        if (thread.track.intervals.empty() && thread.track.open.empty() &&
            thread.track.counters.empty()) {
            continue;
        }
        const auto [entry, is_new] = number_of.try_emplace(pid, run_.processes.size());
        if (is_new) {
            Process& process = run_.processes.emplace_back();
            process.uuid = fmt::format("imported-{}-{}", rank, pid);
            process.role = Role::child;
            process.rank = rank;
            process.world_size = std::max<std::int64_t>(world_size, 1);
            process.pid = to_number<std::int64_t>(pid).value_or(0);
            process.host = "imported";
            process.boot_id = "imported";
            process.ending = "unknown";
            process.started_ns = std::numeric_limits<std::int64_t>::max();
            if (const auto name = file.process_names.find(pid);
                name != file.process_names.end()) {
                process.environment.emplace_back("process.name", name->second);
            }
        }
        Process& process = run_.processes[entry->second];
        count_of[pid] += thread.track.intervals.size();
        for (const Interval& interval : thread.track.intervals) {
            process.started_ns = std::min(process.started_ns, interval.start_ns);
            process.ended_ns = std::max(process.ended_ns.value_or(interval.end_ns()),
                                        interval.end_ns());
        }
        for (const Interval& open : thread.track.open) {
            process.started_ns = std::min(process.started_ns, open.start_ns);
        }
        for (const Counter& counter : thread.track.counters) {
            process.started_ns = std::min(process.started_ns, counter.at_ns);
        }
        thread.track.name =
            thread.name.empty() ? "thread " + place.second : thread.name;
        thread.track.tid = to_number<std::int64_t>(place.second).value_or(0);
        thread.track.kind = "cpu";
        thread.track.cpu_ns.clear();
        for (Interval& interval : thread.track.intervals) {
            interval.iterator = -1;  // whose passes these numbers are nobody knows
        }
        process.tracks.push_back(std::move(thread.track));
    }
    const auto most = std::max_element(
        count_of.begin(), count_of.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != count_of.end()) {
        run_.processes[number_of.at(most->first)].role = Role::main;
    }
}

}  // namespace metatrain_timing::analyzer
