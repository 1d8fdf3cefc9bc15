#include "analyzer/trace/run_from_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "analyzer/error.hpp"
#include "analyzer/load/nesting.hpp"
#include "analyzer/trace/kineto_loops.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kMostNames = 65535;
constexpr const char* kOwnSchema = "mt.trace/1";

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    Number value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size()
               ? std::optional(value)
               : std::nullopt;
}

std::int32_t index_or_none(const std::map<std::string, std::string>& values,
                           const char* name) {
    const auto found = values.find(name);
    if (found == values.end()) {
        return -1;
    }
    const auto number = to_number<std::int32_t>(found->second);
    return number && *number >= 0 ? *number : -1;
}

// Numbers are texts in what was read; see TraceEnd.
std::int64_t integer(const Json& object, const char* name, std::int64_t otherwise = 0) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) {
        return otherwise;
    }
    return to_number<std::int64_t>(found->get_ref<const std::string&>())
        .value_or(otherwise);
}

std::optional<std::int64_t> maybe_integer(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || !found->is_string()
               ? std::nullopt
               : to_number<std::int64_t>(found->get_ref<const std::string&>());
}

std::string text(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>()
                                                       : std::string();
}

bool flag(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

const Json& list(const Json& object, const char* name) {
    static const Json kNone = Json::array();
    const auto found = object.find(name);
    return found != object.end() && found->is_array() ? *found : kNone;
}

std::vector<CpuReading> usage_of(const Json& owner) {
    std::vector<CpuReading> readings;
    for (const Json& row : list(owner, "cpu_usage")) {
        const auto value = [&](std::size_t i) {
            return row.is_array() && i < row.size() && row[i].is_string()
                       ? to_number<std::int64_t>(row[i].get_ref<const std::string&>())
                       : std::nullopt;
        };
        if (const auto at_ns = value(0), cpu_ns = value(1); at_ns && cpu_ns) {
            readings.push_back({*at_ns, *cpu_ns, value(2).value_or(-1)});
        }
    }
    return readings;
}

Process process_of(const Json& row, std::int64_t begin_unix_ns) {
    Process process;
    process.uuid = text(row, "uuid");
    process.parent_uuid = text(row, "parent_uuid");
    const std::string role = text(row, "role");
    process.role = role == "worker"  ? Role::worker
                   : role == "child" ? Role::child
                                     : Role::main;
    process.rank = integer(row, "rank");
    process.world_size = integer(row, "world_size", 1);
    process.worker_id = maybe_integer(row, "worker");
    process.loader = static_cast<std::int32_t>(integer(row, "loader", -1));
    process.pid = integer(row, "system_pid");
    process.start_method = text(row, "start_method");
    process.host = text(row, "host");
    process.boot_id = "imported";  // all times are of one clock
    process.started_ns = integer(row, "started_ns");
    process.ended_ns = maybe_integer(row, "ended_ns");
    process.ending = text(row, "ending");
    process.dropped_count = integer(row, "dropped_count");
    process.unsummed_count = integer(row, "unsummed_count");
    process.clock_offset_ns = begin_unix_ns;
    process.cpu_usage = usage_of(row);
    if (const auto facts = row.find("environment");
        facts != row.end() && facts->is_object()) {
        for (const auto& [key, value] : facts->items()) {
            if (value.is_string()) {
                process.environment.emplace_back(key, value.get<std::string>());
            }
        }
    }
    for (const Json& problem : list(row, "health")) {
        process.health.push_back({text(problem, "code"), text(problem, "text")});
    }
    return process;
}

Loader loader_of(const Json& row) {
    Loader loader;
    loader.process = static_cast<std::int32_t>(integer(row, "process", -1));
    loader.number = integer(row, "number");
    loader.name = text(row, "name");
    loader.created_at = text(row, "created_at");
    loader.dataset_class = text(row, "dataset_class");
    loader.num_workers = integer(row, "num_workers");
    loader.batch_size = maybe_integer(row, "batch_size");
    loader.prefetch_factor = maybe_integer(row, "prefetch_factor");
    loader.persistent_workers = flag(row, "persistent_workers");
    loader.pin_memory = flag(row, "pin_memory");
    loader.in_order = flag(row, "in_order");
    loader.start_method = text(row, "start_method");
    loader.sampler_class = text(row, "sampler_class");
    return loader;
}

Iterator iterator_of(const Json& row) {
    Iterator iterator;
    iterator.loader = static_cast<std::int32_t>(integer(row, "loader", -1));
    iterator.number = integer(row, "number");
    iterator.epoch = integer(row, "epoch");
    iterator.phase = text(row, "phase");
    iterator.started_ns = integer(row, "started_ns");
    iterator.first_wait_ns = maybe_integer(row, "first_wait_ns");
    iterator.ended_ns = maybe_integer(row, "ended_ns");
    iterator.exhausted = flag(row, "exhausted");
    return iterator;
}

[[noreturn]] void refuse_metadata(const std::string& what) {
    throw Error("the metadata of the trace is damaged: " + what);
}

// Indices lead into what is there.
void check(const Run& run) {
    const auto is_index = [](std::int64_t index, std::size_t size) {
        return index >= 0 && index < static_cast<std::int64_t>(size);
    };
    for (const Loader& loader : run.loaders) {
        if (!is_index(loader.process, run.processes.size())) {
            refuse_metadata("a loader of no process");
        }
    }
    for (const Iterator& iterator : run.iterators) {
        if (!is_index(iterator.loader, run.loaders.size())) {
            refuse_metadata("a pass over no loader");
        }
    }
    for (const Process& process : run.processes) {
        if (process.loader != -1 && !is_index(process.loader, run.loaders.size())) {
            refuse_metadata("a worker of no loader");
        }
        if (process.uuid.empty()) {
            refuse_metadata("a process without uuid");
        }
    }
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
    const auto is_ours = [](const File& file) {
        const auto metadata = file.members.find("metadata");
        return metadata != file.members.end() && metadata->is_object() &&
               text(*metadata, "schema") == kOwnSchema;
    };
    if (files_.size() == 1 && is_ours(files_.front())) {
        make_exported(files_.front());
    } else {
        for (std::size_t i = 0; i < files_.size(); ++i) {
            const auto info = files_[i].members.find("distributedInfo");
            const bool knows = info != files_[i].members.end() && info->is_object();
            const auto own = static_cast<std::int64_t>(i);
            const auto count = static_cast<std::int64_t>(files_.size());
            make_processes(files_[i], knows ? integer(*info, "rank", own) : own,
                           knows ? integer(*info, "world_size", count) : count);
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
    const Json& metadata = file.members["metadata"];
    const Json none = Json::object();
    const auto about = metadata.find("run");
    const Json& run = about != metadata.end() && about->is_object() ? *about : none;
    const std::int64_t begin_unix_ns = integer(metadata, "begin_unix_ns");
    run_.uuid = text(run, "uuid");
    run_.job = text(run, "job");
    run_.attempt = integer(run, "attempt", 1);
    run_.started_unix_ns = integer(run, "started_unix_ns");
    run_.command = text(run, "command");
    run_.cwd = text(run, "cwd");
    run_.host = text(run, "host");
    for (const Json& row : list(metadata, "loaders")) {
        run_.loaders.push_back(loader_of(row));
    }
    for (const Json& row : list(metadata, "iterators")) {
        run_.iterators.push_back(iterator_of(row));
    }
    std::map<std::string, std::vector<std::size_t>> lives;          // of a trace's pid
    std::map<std::pair<std::size_t, std::string>, std::size_t> at;  // process, tid
    for (const Json& row : list(metadata, "processes")) {
        const std::size_t number = run_.processes.size();
        Process& process = run_.processes.emplace_back(process_of(row, begin_unix_ns));
        lives[text(row, "pid")].push_back(number);
        for (const Json& thread : list(row, "threads")) {
            at[{number, text(thread, "tid")}] = process.tracks.size();
            Track& track = process.tracks.emplace_back();
            track.tid = integer(thread, "system_tid");
            track.name = text(thread, "name");
            track.kind = text(thread, "kind");
            track.cpu_usage = usage_of(thread);
        }
    }
    check(run_);
    for (auto& [pid, own] : lives) {
        std::stable_sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) {
            return run_.processes[a].started_ns < run_.processes[b].started_ns;
        });
    }
    for (auto& [place, thread] : file.threads) {
        const auto own = lives.find(place.first);
        if (own == lives.end()) {
            refuse_metadata("events of a process that it does not know");
        }
        const auto track_at = [&, &tid = place.second](std::int64_t ns) -> Track& {
            auto life =
                std::upper_bound(own->second.begin(), own->second.end(), ns,
                                 [&](std::int64_t value, std::size_t process) {
                                     return value < run_.processes[process].started_ns;
                                 });
            life -= life == own->second.begin() ? 0 : 1;
            const auto found = at.find({*life, tid});
            if (found == at.end()) {
                refuse_metadata("events of a thread that it does not know");
            }
            return run_.processes[*life].tracks[found->second];
        };
        distribute(thread.track, run_.iterators.size(), track_at);
    }
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
