#include <gtest/gtest.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing {
namespace {

using Rows = std::vector<std::string>;
using test::query;

TEST(Recorder, WritesIntervalsCountersAndDefinitions) {
    const test::TempFolder folder;
    const auto database = folder / "run.db";
    const auto result = test::in_child([&database] {
        ASSERT_TRUE(start({database, "train --fast", false}));
        const auto loader = define_loader({.name = "train set", .num_workers = 2});
        const auto pass = define_iterator(loader, 0);
        iterator_first_wait(pass);
        iterator_phase(pass, "train");
        set_context({.iterator = pass, .batch = 3, .step = 7});
        const auto outer = begin(stage("step"));
        const auto inner = begin_with_cpu(stage("forward"));
        count(counter("atoms"), 12.5);
        end(inner);
        end(outer);
        iterator_ended(pass, true);
        set_fact("torch.version", "2.13.0");
        note_problem("odd", "Something is odd.");
        EXPECT_FALSE(std::filesystem::exists(database.string() + ".d"));
        stop();
    });
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.errors, "");

    EXPECT_EQ(query(database,
                    "SELECT stage, depth, step, batch, phase, loader, epoch, "
                    "cpu_ns IS NULL, track FROM v_interval ORDER BY 1"),
              (Rows{"forward|1|7|3|train|train set|0|0|MainThread",
                    "step|0|7|3|train|train set|0|1|MainThread"}));
    EXPECT_EQ(query(database,
                    "SELECT counter_name.name, value, step FROM counter "
                    "JOIN counter_name ON counter_name.id = name_id"),
              (Rows{"atoms|12.5|7"}));
    EXPECT_EQ(query(database,
                    "SELECT role, rank, ending, ended_ns > started_ns, "
                    "dropped_count FROM process"),
              (Rows{"main|0|clean|1|0"}));
    EXPECT_EQ(query(database, "SELECT attempt, command FROM run"),
              (Rows{"1|train --fast"}));
    EXPECT_EQ(query(database, "SELECT code, text FROM health"),
              (Rows{"odd|Something is odd."}));
    EXPECT_EQ(
        query(database, "SELECT value FROM environment WHERE key = 'torch.version'"),
        (Rows{"2.13.0"}));
    EXPECT_EQ(query(database, "PRAGMA journal_mode"), (Rows{"delete"}));
    EXPECT_FALSE(std::filesystem::exists(database.string() + ".lock"));
    EXPECT_FALSE(std::filesystem::exists(database.string() + "-wal"));
}

}  // namespace
}  // namespace metatrain_timing
