#include "analyzer/import_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>

#include "analyzer/error.hpp"
#include "analyzer/load/counted.hpp"
#include "analyzer/load/write_run.hpp"
#include "analyzer/trace/trace_reader.hpp"

namespace metatrain_timing::analyzer {
namespace {

// What torch.profiler's times are counted from, in Unix time; 0: they are that already,
// or unknown.
std::int64_t base_unix_ns(const Json& members) {
    const auto found = members.find("baseTimeNanoseconds");
    if (found == members.end() || !found->is_string()) {
        return 0;
    }
    const auto& text = found->get_ref<const std::string&>();
    std::int64_t ns = 0;
    std::from_chars(text.data(), text.data() + text.size(), ns);
    return ns;
}

// A uuid of the form that others have, from what the trace is: a trace that is imported
// again is the same run.
std::string uuid_of(const std::vector<std::string>& traces, const Run& run,
                    std::uint64_t event_count) {
    std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
    const auto mix = [&](std::string_view text) {
        for (const char character : text) {
            hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211ULL;
        }
    };
    for (const std::string& trace : traces) {
        mix(std::filesystem::path(trace).filename().string());
    }
    mix(std::to_string(event_count));
    for (const Process& process : run.processes) {
        mix(std::to_string(process.started_ns));
    }
    return fmt::format("{:08x}-{:04x}-4000-8000-{:012x}", hash >> 32,
                       hash >> 16 & 0xFFFF, event_count & 0xFFFFFFFFFFFF);
}

void name_run(Run& run, const std::vector<std::string>& traces, std::int64_t base_ns,
              std::uint64_t event_count) {
    if (!run.uuid.empty()) {
        return;  // `mt-analyze export` has told
    }
    run.uuid = uuid_of(traces, run, event_count);
    run.job = run.uuid;
    run.host = "imported";
    run.command = "imported from";
    for (const std::string& trace : traces) {
        run.command += " " + std::filesystem::path(trace).filename().string();
    }
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    for (Process& process : run.processes) {
        process.uuid = run.uuid + "-" + process.uuid;
        process.clock_offset_ns = base_ns;
        first_ns = std::min(first_ns, process.started_ns);
    }
    if (run.processes.empty() ||
        __builtin_add_overflow(first_ns, base_ns, &run.started_unix_ns)) {
        run.started_unix_ns = 0;
    }
}

}  // namespace

TraceSource parse_trace_source(const std::string& text) {
    if (text == "kineto") {
        return TraceSource::kineto;
    }
    if (text == "viztracer") {
        return TraceSource::viztracer;
    }
    if (text.empty() || text == "chrome") {
        return TraceSource::chrome;
    }
    throw Error("from " + text + ": there are kineto, viztracer and chrome",
                ErrorCode::usage);
}

ImportAnswer import_trace(const std::vector<std::string>& traces, TraceSource source,
                          const std::string& output) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(output, ignored))) {
        throw Error(output + ": exists and is not overwritten; choose another name");
    }
    ImportAnswer answer;
    RunFromTrace made(source);
    std::optional<std::int64_t> base_ns;
    for (const std::string& trace : traces) {
        const TraceEnd end =
            read_trace(trace, [&](const TraceEvent& event) { made.add(event); });
        made.end_file(end.members);
        base_ns = base_ns.value_or(base_unix_ns(end.members));
        answer.event_count += end.event_count;
        if (!end.damage.empty()) {
            answer.warnings.push_back(
                {"trace_damaged",
                 trace + ": " + end.damage + "; what came before was read"});
        }
    }
    Run run = made.finish();
    if (made.impossible_count() > 0) {
        answer.warnings.push_back(
            {"events_impossible", counted(made.impossible_count(), "event") +
                                      " skipped: no time, a negative length, or beyond "
                                      "65,535 names"});
    }
    name_run(run, traces, base_ns.value_or(0), answer.event_count);
    for (const Process& process : run.processes) {
        for (const Track& track : process.tracks) {
            answer.interval_count += track.intervals.size();
        }
    }
    write_run(std::move(run), output);
    return answer;
}

}  // namespace metatrain_timing::analyzer
