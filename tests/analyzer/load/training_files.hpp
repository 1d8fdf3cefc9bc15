#pragma once

#include <filesystem>
#include <string>

#include "tests/support/run_builder.hpp"

namespace metatrain_timing::test {

/// A small training with two workers in three files, as a recorder leaves them:
///
/// run.db                main-0: loader `train` (2 workers), one pass, batches 0 and 1:
///                       loader 100-110, step 110-140 (optimizer 130-140), loader
///                       140-150, step 150-180 (optimizer 170-180)
/// run.db.d/rank0-w00.db worker 0: fetch 20-60 of batch 0 (collate 40-60)
/// run.db.d/rank0-w01.db worker 1: fetch 30-70 of batch 1 (collate 50-70)
///
/// Ids differ from file to file on purpose.
inline void write_main(const std::filesystem::path& path,
                       const std::string& run = "run-1",
                       const std::string& main = "main-0") {
    RunBuilder file(path);
    const Id process =
        file.process(file.run(run), {.uuid = main, .ended_ns = 200, .ending = "clean"});
    file.clock(process, 100, 1'000'000'100);
    const Id loader = file.loader({.process = process, .num_workers = 2});
    const Id pass = file.iterator({.loader = loader,
                                   .phase = "train",
                                   .started_ns = 10,
                                   .first_wait_ns = 100,
                                   .ended_ns = 190});
    const Id track = file.track(process);
    for (int i = 0; i < 2; ++i) {
        const std::int64_t start = 100 + 40 * i;
        const IntervalSpec at{.depth = 0, .iterator = pass, .batch = i, .step = i};
        IntervalSpec inside = at;
        inside.depth = 1;
        file.interval(track, "loader", start, 10, at);
        file.interval(track, "optimizer", start + 30, 10, inside);
        file.interval(track, "step", start + 10, 30, at);
    }
}

inline void write_worker(const std::filesystem::path& path, int worker,
                         const std::string& run = "run-1",
                         const std::string& main = "main-0") {
    RunBuilder file(path);
    const Id process = file.process(file.run(run, 1'000'000'005, std::nullopt),
                                    {.uuid = main + "-worker-" + std::to_string(worker),
                                     .parent_uuid = main,
                                     .role = "worker",
                                     .worker_id = worker,
                                     .started_ns = 15 + worker,
                                     .ended_ns = 195,
                                     .ending = "clean"});
    file.stage("only here, so that ids differ");
    const Id loader = file.loader({.process = process, .num_workers = 2});
    file.serves(process, loader);
    const Id pass = file.iterator({.loader = loader, .started_ns = 15});
    const Id track = file.track(process);
    const std::int64_t start = 20 + 10 * worker;
    file.interval(track, "collate", start + 20, 20,
                  {.depth = 1, .iterator = pass, .batch = worker});
    file.interval(track, "fetch", start, 40,
                  {.depth = 0, .iterator = pass, .batch = worker});
}

inline void write_training(const std::filesystem::path& path) {
    write_main(path);
    for (int worker = 0; worker < 2; ++worker) {
        write_worker(path.string() + ".d/rank0-w0" + std::to_string(worker) + ".db",
                     worker);
    }
}

}  // namespace metatrain_timing::test
