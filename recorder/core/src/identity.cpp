#include "recorder/core/src/identity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/uuid.hpp"

namespace metatrain_timing::detail {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

std::optional<std::int64_t> to_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [stop, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

// What a parent left in the environment; nothing if it is not of our making.
std::optional<RunIdentity> inherited_run(const Environment& environment) {
    const std::string text = environment(kRunVariable).value_or("");
    const auto parts = split(text, '/');
    if (parts.size() != 5 || !is_uuid(parts[0]) || !is_uuid(parts[2])) {
        return std::nullopt;
    }
    const auto attempt = to_number(parts[1]);
    const auto pid = to_number(parts[3]);
    const auto size_before = to_number(parts[4]);
    if (!attempt || *attempt < 1 || !pid || *pid < 1 || !size_before) {
        return std::nullopt;
    }
    RunIdentity run;
    run.uuid = parts[0];
    run.job = parts[2];
    run.attempt = *attempt;
    run.fixed_by = static_cast<pid_t>(*pid);
    run.size_before_bytes = *size_before;
    return run;
}

}  // namespace

RunIdentity make_identity(const Environment& environment, pid_t pid,
                          const std::optional<PreviousAttempt>& previous) {
    RunIdentity run;
    const auto job = find_job(environment);
    if (const auto inherited = inherited_run(environment)) {
        run = *inherited;
    } else if (job) {
        run.job = name_uuid(job->job_name);
        run.attempt = job->attempt;
        run.uuid = name_uuid(fmt::format("{} attempt {}", job->run_name, job->attempt));
        run.fixed_by = pid;
    } else {
        run.job = previous ? previous->job : random_uuid();
        run.attempt = previous ? previous->attempt + 1 : 1;
        run.uuid = random_uuid();
        run.fixed_by = pid;
    }
    run.started_unix_ns = read_clocks().unix_ns;
    const auto rank = find_rank(environment);
    run.is_rank = rank.has_value();
    run.rank = rank.value_or(Rank{});
    run.launcher = job ? job->launcher : "";
    return run;
}

std::string run_variable(const RunIdentity& identity) {
    return fmt::format("{}/{}/{}/{}/{}", identity.uuid, identity.attempt, identity.job,
                       identity.fixed_by, identity.size_before_bytes);
}

ParentLife parent_life(const Environment& environment) {
    const std::string text = environment(kParentVariable).value_or("");
    const auto parts = split(text, '/');
    if (parts.size() != 2 || !is_uuid(parts[0])) {
        return {};
    }
    return {std::string(parts[0]), parts[1] == "rank"};
}

std::string parent_variable(const ParentLife& life) {
    return life.process_uuid + (life.was_rank ? "/rank" : "/process");
}

}  // namespace metatrain_timing::detail
