#include "analyzer/trace/track_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;
using testing::ElementsAre;

std::vector<std::string> names_of(const TrackNames& tracks) {
    std::vector<std::string> names;
    for (const TrackNames::ProcessName& process : tracks.processes()) {
        EXPECT_EQ(process.pid, static_cast<std::int64_t>(names.size()) + 1);
        names.push_back(process.name);
    }
    return names;
}

TEST(TrackNames, LivesOfAWorkerShareATrackUnlessTheyOverlap) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "train", 2);
    const auto first = builder.worker(loader, 0, 0, 100);
    const auto second = builder.worker(loader, 0, 100, 200);
    const auto beside = builder.worker(loader, 0, 150, 300);
    const auto other = builder.worker(loader, 1, 0, 300);
    for (const auto process : {first, second, beside, other}) {
        builder.add(process, "fetch", 0, 10);
    }
    const auto run = builder.build();
    const TrackNames tracks(run);

    EXPECT_THAT(names_of(tracks),
                ElementsAre("training, process 100", "worker 0 of train at train.py:1",
                            "worker 0 of train at train.py:1 (2)",
                            "worker 1 of train at train.py:1"));
    const auto pid = [&](std::int32_t process) {
        return tracks.pid_of(static_cast<std::size_t>(process));
    };
    EXPECT_EQ(pid(first), 2);
    EXPECT_EQ(pid(second), 2);
    EXPECT_EQ(pid(beside), 3);
    EXPECT_EQ(pid(other), 4);
}

TEST(TrackNames, ThreadsOfOneNameShareATrackOverLivesAndNeverInOne) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "train", 1);
    const auto first = builder.worker(loader, 0, 0, 100);
    const auto second = builder.worker(loader, 0, 100, 200);
    builder.add(first, "fetch", 0, 10, {}, "MainThread");
    builder.add(first, "send", 0, 10, {}, "sender");
    builder.add(second, "send", 110, 120, {}, "sender");
    builder.add(second, "fetch", 110, 120, {}, "MainThread");
    auto run = builder.build();
    auto& tracks_of_second = run.processes[static_cast<std::size_t>(second)].tracks;
    tracks_of_second.push_back(tracks_of_second.front());  // a second "sender"
    const TrackNames tracks(run);

    EXPECT_THAT(tracks.processes().at(1).threads,
                ElementsAre("MainThread", "sender", "sender"));
    const auto tid = [&](std::int32_t process, std::size_t track) {
        return tracks.of(static_cast<std::size_t>(process), track).tid;
    };
    EXPECT_EQ(tid(first, 0), 1);
    EXPECT_EQ(tid(first, 1), 2);
    EXPECT_EQ(tid(second, 0), 2);
    EXPECT_EQ(tid(second, 1), 1);
    EXPECT_EQ(tid(second, 2), 3);
}

TEST(TrackNames, RanksAreNamedWhereThereAreSeveral) {
    ModelBuilder builder;
    builder.main(1);
    const auto loader = builder.loader(builder.main(0), "train", 1);
    builder.worker(loader, 0, 0, 100);
    const auto run = builder.build();
    EXPECT_THAT(names_of(TrackNames(run)),
                ElementsAre("rank 0: training, process 101",
                            "rank 0: worker 0 of train at train.py:1",
                            "rank 1: training, process 100"));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
