#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer::test {

/// Which batch an interval belongs to; -1 as in the model.
struct At {
    std::int32_t iterator = -1;
    std::int32_t batch = -1;
    std::int32_t step = -1;
    std::int64_t cpu_ns = -1;
};

/// A run built in memory for the tests of analyses. Times are given in milliseconds, so
/// that expected values can be worked out by hand; the model holds nanoseconds.
///
///     ModelBuilder run;
///     const auto loader = run.loader(run.main(), "train", 0);
///     const auto pass = run.iterator(loader, "train");
///     run.add(run.main(), "loader", 0, 10, {pass, 0, 0});
///     const auto model = run.build();
class ModelBuilder {
  public:
    static constexpr std::int64_t kMillisecond = 1'000'000;

    ModelBuilder() {
        run_.uuid = "0123abcd-0000-4000-8000-000000000000";
        run_.job = "job";
        run_.command = "python train.py";
        run_.host = "host";
    }

    Run& run() { return run_; }

    /// The training process of `rank`; made on first use.
    std::int32_t main(std::int64_t rank = 0) {
        for (std::size_t i = 0; i < run_.processes.size(); ++i) {
            const Process& process = run_.processes[i];
            if (process.role == Role::main && process.rank == rank) {
                return static_cast<std::int32_t>(i);
            }
        }
        Process process;
        process.rank = rank;
        return add_process(std::move(process));
    }

    /// A life of worker `worker_id` of `loader`, from `start_ms` to `end_ms`.
    std::int32_t worker(std::int32_t loader, std::int64_t worker_id,
                        std::int64_t start_ms, std::int64_t end_ms) {
        const Process& owner = process(run_.loaders[index(loader)].process);
        Process worker;
        worker.role = Role::worker;
        worker.rank = owner.rank;
        worker.parent_uuid = owner.uuid;
        worker.worker_id = worker_id;
        worker.loader = loader;
        worker.started_ns = start_ms * kMillisecond;
        worker.ended_ns = end_ms * kMillisecond;
        worker.ending = "clean";
        return add_process(std::move(worker));
    }

    std::int32_t loader(std::int32_t owner, std::string name,
                        std::int64_t num_workers) {
        Loader loader;
        loader.process = owner;
        loader.number = static_cast<std::int64_t>(run_.loaders.size()) + 1;
        loader.created_at = name + ".py:1";
        loader.name = std::move(name);
        loader.dataset_class = "data.Dataset";
        loader.num_workers = num_workers;
        run_.loaders.push_back(std::move(loader));
        return static_cast<std::int32_t>(run_.loaders.size() - 1);
    }

    std::int32_t iterator(std::int32_t loader, std::string phase,
                          bool exhausted = true) {
        Iterator iterator;
        iterator.loader = loader;
        iterator.number = static_cast<std::int64_t>(run_.iterators.size()) + 1;
        iterator.epoch = std::count_if(
            run_.iterators.begin(), run_.iterators.end(),
            [loader](const Iterator& other) { return other.loader == loader; });
        iterator.phase = std::move(phase);
        iterator.exhausted = exhausted;
        run_.iterators.push_back(std::move(iterator));
        return static_cast<std::int32_t>(run_.iterators.size() - 1);
    }

    /// Adds an interval [start_ms, end_ms) of `stage` to a thread of a process.
    void add(std::int32_t process_index, std::string_view stage, double start_ms,
             double end_ms, At at = {}, std::string_view thread = "MainThread") {
        Track& track = track_of(process_index, thread);
        track.intervals.push_back(make(stage, start_ms, end_ms, at));
        track.cpu_ns.push_back(at.cpu_ns);
        Process& owner = process(process_index);
        if (owner.role != Role::worker) {
            owner.ended_ns =
                std::max(owner.ended_ns.value_or(0), track.intervals.back().end_ns());
        }
    }

    /// Adds an interval that was still open when recording ended.
    void add_open(std::int32_t process_index, std::string_view stage, double start_ms,
                  At at = {}, std::string_view thread = "MainThread") {
        track_of(process_index, thread)
            .open.push_back(make(stage, start_ms, start_ms, at));
    }

    void count(std::int32_t process_index, std::string_view name, double at_ms,
               double value, At at = {}, std::string_view thread = "MainThread") {
        Counter counter;
        counter.at_ns = to_ns(at_ms);
        counter.value = value;
        counter.step = at.step;
        counter.iterator = at.iterator;
        counter.batch = at.batch;
        counter.name = intern(run_.counter_names, name);
        track_of(process_index, thread).counters.push_back(counter);
    }

    /// The model, as `load_run()` hands it out: tracks sorted, depths filled in.
    Run build() {
        Run run = run_;
        for (Process& process : run.processes) {
            for (Track& track : process.tracks) {
                sort(track);
            }
        }
        return run;
    }

  private:
    static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
    static std::int64_t to_ns(double ms) {
        return static_cast<std::int64_t>(ms * static_cast<double>(kMillisecond) + 0.5);
    }

    Process& process(std::int32_t i) { return run_.processes[index(i)]; }

    std::int32_t add_process(Process process) {
        process.uuid = "process-" + std::to_string(run_.processes.size());
        process.pid = 100 + static_cast<std::int64_t>(run_.processes.size());
        if (process.ending.empty()) {
            process.ending = "clean";
        }
        run_.processes.push_back(std::move(process));
        return static_cast<std::int32_t>(run_.processes.size() - 1);
    }

    Track& track_of(std::int32_t process_index, std::string_view thread) {
        std::vector<Track>& tracks = process(process_index).tracks;
        for (Track& track : tracks) {
            if (track.name == thread) {
                return track;
            }
        }
        Track track;
        track.tid = static_cast<std::int64_t>(tracks.size()) + 1;
        track.name = thread;
        track.kind = "cpu";
        tracks.push_back(std::move(track));
        return tracks.back();
    }

    static std::uint16_t intern(std::vector<std::string>& names,
                                std::string_view name) {
        const auto found = std::find(names.begin(), names.end(), name);
        const auto position = found - names.begin();
        if (found == names.end()) {
            names.emplace_back(name);
        }
        return static_cast<std::uint16_t>(position);
    }

    Interval make(std::string_view stage, double start_ms, double end_ms,
                  const At& at) {
        Interval interval;
        interval.start_ns = to_ns(start_ms);
        interval.dur_ns = to_ns(end_ms) - interval.start_ns;
        interval.step = at.step;
        interval.iterator = at.iterator;
        interval.batch = at.batch;
        interval.stage = intern(run_.stages, stage);
        return interval;
    }

    static void sort(Track& track) {
        std::vector<std::size_t> order(track.intervals.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = i;
        }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const Interval& left = track.intervals[a];
            const Interval& right = track.intervals[b];
            return left.start_ns != right.start_ns ? left.start_ns < right.start_ns
                                                   : left.dur_ns > right.dur_ns;
        });
        Track sorted = track;
        std::vector<std::int64_t> ends;
        for (std::size_t i = 0; i < order.size(); ++i) {
            Interval interval = track.intervals[order[i]];
            while (!ends.empty() && ends.back() <= interval.start_ns) {
                ends.pop_back();
            }
            interval.depth =
                static_cast<std::uint16_t>(ends.size() + open_at(track, interval));
            ends.push_back(interval.end_ns());
            sorted.intervals[i] = interval;
            sorted.cpu_ns[i] = track.cpu_ns[order[i]];
        }
        track = std::move(sorted);
    }

    // An interval that never ended encloses what began after it.
    static std::size_t open_at(const Track& track, const Interval& interval) {
        return static_cast<std::size_t>(std::count_if(
            track.open.begin(), track.open.end(),
            [&](const Interval& open) { return open.start_ns <= interval.start_ns; }));
    }

    Run run_;
};

}  // namespace metatrain_timing::analyzer::test
