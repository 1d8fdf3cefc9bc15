#include "analyzer/trace/track_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "analyzer/analysis/loader_labels.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Of what lives of a process are one on the timeline.
using Seat = std::tuple<std::int64_t, Role, std::int32_t, std::int64_t>;

// Training processes and their children are each their own.
Seat seat_of(const Run& run, std::size_t process) {
    const Process& life = run.processes[process];
    const bool is_worker = life.role == Role::worker && life.worker_id;
    return {life.rank, life.role, is_worker ? life.loader : -1,
            is_worker ? *life.worker_id : static_cast<std::int64_t>(process)};
}

std::string name_of(const Run& run, const Process& life, std::size_t beside,
                    const std::vector<std::string>& labels, bool has_ranks) {
    std::string name = has_ranks ? fmt::format("rank {}: ", life.rank) : "";
    switch (life.role) {
        case Role::main:
            name += fmt::format("training, process {}", life.pid);
            break;
        case Role::child:
            name += fmt::format("child, process {}", life.pid);
            break;
        case Role::worker:
            name += life.worker_id ? fmt::format("worker {}", *life.worker_id)
                                   : fmt::format("worker, process {}", life.pid);
            if (life.loader >= 0) {
                const auto at = static_cast<std::size_t>(life.loader);
                const std::string& place = run.loaders[at].created_at;
                name += " of " + labels[at] + (place.empty() ? "" : " at " + place);
            }
            break;
    }
    return beside == 0 ? name : fmt::format("{} ({})", name, beside + 1);
}

}  // namespace

TrackNames::TrackNames(const Run& run) : pids_(run.processes.size(), 0) {
    const std::vector<std::string> labels = loader_labels(run, {});
    bool has_ranks = false;
    std::map<Seat, std::vector<std::size_t>> lives;
    for (std::size_t i = 0; i < run.processes.size(); ++i) {
        has_ranks = has_ranks || run.processes[i].rank != run.processes.front().rank;
        lives[seat_of(run, i)].push_back(i);
    }
    for (auto& [seat, own] : lives) {
        std::stable_sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) {
            return run.processes[a].started_ns < run.processes[b].started_ns;
        });
        // Each life goes to the first place that is free by then.
        std::vector<std::pair<std::int64_t, std::int64_t>> places;  // its end, pid
        for (const std::size_t i : own) {
            const Process& life = run.processes[i];
            auto place = std::find_if(
                places.begin(), places.end(),
                [&](const auto& other) { return other.first <= life.started_ns; });
            if (place == places.end()) {
                const auto pid = static_cast<std::int64_t>(processes_.size()) + 1;
                processes_.push_back(
                    {pid, name_of(run, life, places.size(), labels, has_ranks), {}});
                place = places.insert(places.end(), {0, pid});
            }
            place->first =
                life.ended_ns.value_or(std::numeric_limits<std::int64_t>::max());
            pids_[i] = place->second;
        }
    }
    place_threads(run);
}

// Threads of one name share a track over the lives of a worker, never within one.
void TrackNames::place_threads(const Run& run) {
    for (std::size_t i = 0; i < run.processes.size(); ++i) {
        std::vector<std::string>& threads =
            processes_[static_cast<std::size_t>(pids_[i] - 1)].threads;
        std::vector<bool> taken(threads.size(), false);
        std::vector<TraceTrack>& own = tracks_.emplace_back();
        for (const Track& track : run.processes[i].tracks) {
            std::size_t at = 0;
            while (at < threads.size() && (taken[at] || threads[at] != track.name)) {
                ++at;
            }
            if (at == threads.size()) {
                threads.push_back(track.name);
                taken.push_back(false);
            }
            taken[at] = true;
            own.push_back({pids_[i], static_cast<std::int64_t>(at) + 1});
        }
    }
}

}  // namespace metatrain_timing::analyzer
