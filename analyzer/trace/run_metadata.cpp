#include "analyzer/trace/run_metadata.hpp"

#include <metatrain_timing/version.hpp>

#include "analyzer/render/json.hpp"

namespace metatrain_timing::analyzer {
namespace {

Json run_json(const Run& run) {
    return {{"uuid", run.uuid},       {"job", run.job},
            {"attempt", run.attempt}, {"started_unix_ns", run.started_unix_ns},
            {"command", run.command}, {"cwd", run.cwd},
            {"host", run.host}};
}

const char* name_of(Role role) {
    switch (role) {
        case Role::worker:
            return "worker";
        case Role::child:
            return "child";
        case Role::main:
            break;
    }
    return "main";
}

// [[at_ns, cpu_ns, queued_ns], ...]; queued_ns -1: unknown.
Json usage_json(const std::vector<CpuReading>& readings, std::size_t process,
                const TraceClock& clock) {
    Json list = Json::array();
    for (const CpuReading& reading : readings) {
        list.push_back(
            {clock.at(process, reading.at_ns), reading.cpu_ns, reading.queued_ns});
    }
    return list;
}

Json processes_json(const Run& run, const TraceClock& clock, const TrackNames& names) {
    Json list = Json::array();
    for (std::size_t i = 0; i < run.processes.size(); ++i) {
        const Process& process = run.processes[i];
        Json threads = Json::array();
        for (std::size_t t = 0; t < process.tracks.size(); ++t) {
            threads.push_back(
                {{"tid", names.of(i, t).tid},
                 {"system_tid", process.tracks[t].tid},
                 {"name", process.tracks[t].name},
                 {"kind", process.tracks[t].kind},
                 {"cpu_usage", usage_json(process.tracks[t].cpu_usage, i, clock)}});
        }
        Json facts = Json::object();
        for (const auto& [key, value] : process.environment) {
            facts[key] = value;
        }
        list.push_back(
            {{"pid", names.pid_of(i)},
             {"system_pid", process.pid},
             {"uuid", process.uuid},
             {"parent_uuid", process.parent_uuid},
             {"role", name_of(process.role)},
             {"rank", process.rank},
             {"world_size", process.world_size},
             {"worker", or_null(process.worker_id)},
             {"loader", process.loader},
             {"start_method", process.start_method},
             {"host", process.host},
             {"started_ns", clock.at(i, process.started_ns)},
             {"ended_ns",
              process.ended_ns ? Json(clock.at(i, *process.ended_ns)) : Json(nullptr)},
             {"ending", process.ending},
             {"dropped_count", process.dropped_count},
             {"unsummed_count", process.unsummed_count},
             {"cpu_usage", usage_json(process.cpu_usage, i, clock)},
             {"health", warnings_json(process.health)},
             {"threads", std::move(threads)},
             {"environment", std::move(facts)}});
    }
    return list;
}

Json loaders_json(const Run& run) {
    Json list = Json::array();
    for (const Loader& loader : run.loaders) {
        list.push_back({{"process", loader.process},
                        {"number", loader.number},
                        {"name", loader.name},
                        {"created_at", loader.created_at},
                        {"dataset_class", loader.dataset_class},
                        {"num_workers", loader.num_workers},
                        {"batch_size", or_null(loader.batch_size)},
                        {"prefetch_factor", or_null(loader.prefetch_factor)},
                        {"persistent_workers", loader.persistent_workers},
                        {"pin_memory", loader.pin_memory},
                        {"in_order", loader.in_order},
                        {"start_method", loader.start_method},
                        {"sampler_class", loader.sampler_class}});
    }
    return list;
}

// Times of a pass are those of the process that owns its loader.
Json iterators_json(const Run& run, const TraceClock& clock) {
    Json list = Json::array();
    for (const Iterator& iterator : run.iterators) {
        const std::int32_t owner =
            iterator.loader < 0
                ? -1
                : run.loaders[static_cast<std::size_t>(iterator.loader)].process;
        const auto time = [&](std::optional<std::int64_t> ns) {
            return ns && owner >= 0
                       ? Json(clock.at(static_cast<std::size_t>(owner), *ns))
                       : Json(nullptr);
        };
        list.push_back({{"loader", iterator.loader},
                        {"number", iterator.number},
                        {"epoch", iterator.epoch},
                        {"phase", iterator.phase},
                        {"started_ns", time(iterator.started_ns)},
                        {"first_wait_ns", time(iterator.first_wait_ns)},
                        {"ended_ns", time(iterator.ended_ns)},
                        {"exhausted", iterator.exhausted}});
    }
    return list;
}

}  // namespace

std::string run_metadata(const Run& run, const TraceClock& clock,
                         const TrackNames& names) {
    const Json metadata = {{"schema", "mt.trace/1"},
                           {"tool", {{"version", kVersion}}},
                           {"begin_unix_ns", clock.begin_unix_ns()},
                           {"run", run_json(run)},
                           {"processes", processes_json(run, clock, names)},
                           {"loaders", loaders_json(run)},
                           {"iterators", iterators_json(run, clock)}};
    return metadata.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace metatrain_timing::analyzer
