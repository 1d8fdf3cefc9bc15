#include "analyzer/trace/exported_run.hpp"

#include <algorithm>
#include <optional>

#include "analyzer/error.hpp"
#include "analyzer/trace/json_values.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr const char* kTraceSchema = "mt.trace/1";

std::vector<CpuReading> usage_of(const Json& owner) {
    std::vector<CpuReading> readings;
    for (const Json& row : list_of(owner, "cpu_usage")) {
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
    process.uuid = text_of(row, "uuid");
    process.parent_uuid = text_of(row, "parent_uuid");
    const std::string role = text_of(row, "role");
    process.role = role == "worker"  ? Role::worker
                   : role == "child" ? Role::child
                                     : Role::main;
    process.rank = integer_of(row, "rank");
    process.world_size = integer_of(row, "world_size", 1);
    process.worker_id = maybe_integer_of(row, "worker");
    process.loader = static_cast<std::int32_t>(integer_of(row, "loader", -1));
    process.pid = integer_of(row, "system_pid");
    process.start_method = text_of(row, "start_method");
    process.host = text_of(row, "host");
    process.boot_id = "imported";  // all times are of one clock
    process.started_ns = integer_of(row, "started_ns");
    process.ended_ns = maybe_integer_of(row, "ended_ns");
    process.ending = text_of(row, "ending");
    process.dropped_count = integer_of(row, "dropped_count");
    process.unsummed_count = integer_of(row, "unsummed_count");
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
    for (const Json& problem : list_of(row, "health")) {
        process.health.push_back({text_of(problem, "code"), text_of(problem, "text")});
    }
    return process;
}

Loader loader_of(const Json& row) {
    Loader loader;
    loader.process = static_cast<std::int32_t>(integer_of(row, "process", -1));
    loader.number = integer_of(row, "number");
    loader.name = text_of(row, "name");
    loader.created_at = text_of(row, "created_at");
    loader.dataset_class = text_of(row, "dataset_class");
    loader.num_workers = integer_of(row, "num_workers");
    loader.batch_size = maybe_integer_of(row, "batch_size");
    loader.prefetch_factor = maybe_integer_of(row, "prefetch_factor");
    loader.persistent_workers = flag_of(row, "persistent_workers");
    loader.pin_memory = flag_of(row, "pin_memory");
    loader.in_order = flag_of(row, "in_order");
    loader.start_method = text_of(row, "start_method");
    loader.sampler_class = text_of(row, "sampler_class");
    return loader;
}

Iterator iterator_of(const Json& row) {
    Iterator iterator;
    iterator.loader = static_cast<std::int32_t>(integer_of(row, "loader", -1));
    iterator.number = integer_of(row, "number");
    iterator.epoch = integer_of(row, "epoch");
    iterator.phase = text_of(row, "phase");
    iterator.started_ns = integer_of(row, "started_ns");
    iterator.first_wait_ns = maybe_integer_of(row, "first_wait_ns");
    iterator.ended_ns = maybe_integer_of(row, "ended_ns");
    iterator.exhausted = flag_of(row, "exhausted");
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

}  // namespace

bool ExportedRun::is_in(const Json& members) {
    const auto metadata = members.find("metadata");
    return metadata != members.end() && metadata->is_object() &&
           text_of(*metadata, "schema") == kTraceSchema;
}

ExportedRun::ExportedRun(const Json& metadata) {
    const Json none = Json::object();
    const auto about = metadata.find("run");
    const Json& run = about != metadata.end() && about->is_object() ? *about : none;
    run_.uuid = text_of(run, "uuid");
    run_.job = text_of(run, "job");
    run_.attempt = integer_of(run, "attempt", 1);
    run_.started_unix_ns = integer_of(run, "started_unix_ns");
    run_.command = text_of(run, "command");
    run_.cwd = text_of(run, "cwd");
    run_.host = text_of(run, "host");
    for (const Json& row : list_of(metadata, "loaders")) {
        run_.loaders.push_back(loader_of(row));
    }
    for (const Json& row : list_of(metadata, "iterators")) {
        run_.iterators.push_back(iterator_of(row));
    }
    add_processes(metadata);
    check(run_);
}

void ExportedRun::add_processes(const Json& metadata) {
    const std::int64_t begin_unix_ns = integer_of(metadata, "begin_unix_ns");
    for (const Json& row : list_of(metadata, "processes")) {
        const std::size_t number = run_.processes.size();
        Process& process = run_.processes.emplace_back(process_of(row, begin_unix_ns));
        lives_[text_of(row, "pid")].push_back(number);
        for (const Json& thread : list_of(row, "threads")) {
            tracks_[{number, text_of(thread, "tid")}] = process.tracks.size();
            Track& track = process.tracks.emplace_back();
            track.tid = integer_of(thread, "system_tid");
            track.name = text_of(thread, "name");
            track.kind = text_of(thread, "kind");
            track.cpu_usage = usage_of(thread);
        }
    }
    for (auto& [pid, own] : lives_) {
        std::stable_sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) {
            return run_.processes[a].started_ns < run_.processes[b].started_ns;
        });
    }
}

Track& ExportedRun::track_at(const std::string& pid, const std::string& tid,
                             std::int64_t ns) {
    const auto own = lives_.find(pid);
    if (own == lives_.end()) {
        refuse_metadata("events of a process that it does not know");
    }
    auto life = std::upper_bound(own->second.begin(), own->second.end(), ns,
                                 [&](std::int64_t value, std::size_t process) {
                                     return value < run_.processes[process].started_ns;
                                 });
    life -= life == own->second.begin() ? 0 : 1;
    const auto found = tracks_.find({*life, tid});
    if (found == tracks_.end()) {
        refuse_metadata("events of a thread that it does not know");
    }
    return run_.processes[*life].tracks[found->second];
}

}  // namespace metatrain_timing::analyzer
