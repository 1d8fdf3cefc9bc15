#include "analyzer/load/missing_workers.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::test {
namespace {

using analyzer::Iterator;
using analyzer::Loader;
using analyzer::missing_worker_files;
using analyzer::Process;
using analyzer::Role;

// A training process with loaders of these numbers of workers.
analyzer::Run training(const std::vector<std::int64_t>& num_workers) {
    analyzer::Run run;
    run.processes.emplace_back();
    for (const std::int64_t count : num_workers) {
        Loader& loader = run.loaders.emplace_back();
        loader.process = 0;
        loader.num_workers = count;
    }
    return run;
}

void add_pass(analyzer::Run& run, std::int32_t loader, std::int64_t begin,
              std::optional<std::int64_t> end) {
    Iterator& pass = run.iterators.emplace_back();
    pass.loader = loader;
    pass.started_ns = begin;
    pass.ended_ns = end;
}

void add_worker(analyzer::Run& run, std::int32_t loader, std::int64_t worker) {
    Process& process = run.processes.emplace_back();
    process.role = Role::worker;
    process.loader = loader;
    process.worker_id = worker;
}

TEST(MissingWorkers, PassesOneAfterTheOtherShareTheirFiles) {
    auto run = training({2});
    add_pass(run, 0, 0, 10);
    add_pass(run, 0, 10, 20);
    EXPECT_EQ(missing_worker_files(run), 2);
}

TEST(MissingWorkers, PassesAtTheSameTimeDoNot) {
    auto run = training({2, 3});
    add_pass(run, 0, 0, 10);
    add_pass(run, 1, 5, std::nullopt);
    add_pass(run, 0, 20, 30);
    EXPECT_EQ(missing_worker_files(run), 5);
}

TEST(MissingWorkers, WorkersThatWereReadAreNotMissing) {
    auto run = training({2, 0});
    add_pass(run, 0, 0, 10);
    add_pass(run, 1, 0, 10);
    add_worker(run, 0, 0);
    EXPECT_EQ(missing_worker_files(run), 1);
    add_worker(run, 0, 1);
    EXPECT_EQ(missing_worker_files(run), 0);
}

TEST(MissingWorkers, APassOfALiveTrainingMayNotHaveWrittenYet) {
    auto run = training({2});
    add_pass(run, 0, 0, std::nullopt);
    run.processes[0].alive = true;
    EXPECT_EQ(missing_worker_files(run), 0);
}

TEST(MissingWorkers, WithoutTheOwnersFileNothingCanBeSaid) {
    auto run = training({2});
    run.loaders[0].process = -1;
    add_pass(run, 0, 0, 10);
    EXPECT_EQ(missing_worker_files(run), 0);
}

}  // namespace
}  // namespace metatrain_timing::test
