#include "recorder/core/src/definition_code.hpp"

#include <gtest/gtest.h>

namespace metatrain_timing::detail {
namespace {

using Fact = std::pair<std::string, std::string>;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

DecodedDefinitions decoded(const std::string& text) {
    DecodedDefinitions definitions;
    decode(bytes_of(text), definitions);
    return definitions;
}

TEST(DefinitionCode, AProcessComesBackWhole) {
    ProcessRow row;
    row.run.uuid = "run";
    row.run.job = "job";
    row.run.attempt = 3;
    row.run.started_unix_ns = 4;
    row.run.rank = {.rank = 5, .world_size = 6, .local_rank = 7};
    row.command = "mtt train";
    row.cwd = "/home";
    row.process_uuid = "process";
    row.parent_uuid = "parent";
    row.info = {.role = ProcessInfo::Role::worker,
                .worker_id = 8,
                .loader = 9,
                .start_method = "fork",
                .started_ns = 10};
    row.host = "host";
    row.boot_id = "boot";
    row.pid = 11;
    const auto definitions = decoded(encode(row));
    EXPECT_FALSE(definitions.damaged);
    ASSERT_TRUE(definitions.process);
    const ProcessRow& back = *definitions.process;
    EXPECT_EQ(back.run.uuid, "run");
    EXPECT_EQ(back.run.job, "job");
    EXPECT_EQ(back.run.attempt, 3);
    EXPECT_EQ(back.run.started_unix_ns, 4);
    EXPECT_EQ(back.run.rank.rank, 5);
    EXPECT_EQ(back.run.rank.world_size, 6);
    EXPECT_EQ(back.run.rank.local_rank, 7);
    EXPECT_EQ(back.command, "mtt train");
    EXPECT_EQ(back.cwd, "/home");
    EXPECT_EQ(back.process_uuid, "process");
    EXPECT_EQ(back.parent_uuid, "parent");
    EXPECT_EQ(back.info.role, ProcessInfo::Role::worker);
    EXPECT_EQ(back.info.worker_id, 8);
    EXPECT_EQ(back.info.loader, 9);
    EXPECT_EQ(back.info.start_method, "fork");
    EXPECT_EQ(back.info.started_ns, 10);
    EXPECT_EQ(back.host, "host");
    EXPECT_EQ(back.boot_id, "boot");
    EXPECT_EQ(back.pid, 11);
}

TEST(DefinitionCode, OfWhatWasSaidTwiceTheLaterCounts) {
    IteratorState iterator;
    iterator.number = 2;
    iterator.loader = 1;
    IteratorState other = iterator;
    other.number = 3;
    std::string text = encode(iterator);
    iterator.phase = "train";
    iterator.ended_ns = 9;
    iterator.exhausted = true;
    text += encode(other) + encode(iterator) + encode(Fact{"key", "old"}) +
            encode(Fact{"key", "new"});
    const auto definitions = decoded(text);
    ASSERT_EQ(definitions.pending.iterators.size(), 2U);
    EXPECT_EQ(definitions.pending.iterators[0].number, 2);
    EXPECT_EQ(definitions.pending.iterators[0].phase, "train");
    EXPECT_EQ(definitions.pending.iterators[0].first_wait_ns, std::nullopt);
    EXPECT_EQ(definitions.pending.iterators[0].ended_ns, 9);
    EXPECT_TRUE(definitions.pending.iterators[0].exhausted);
    ASSERT_EQ(definitions.pending.facts.size(), 1U);
    EXPECT_EQ(definitions.pending.facts[0].second, "new");
}

TEST(DefinitionCode, BytesThatWereCutGiveWhatIsBeforeTheCut) {
    const std::string first = encode(NumberedName{NumberedName::Of::stage, 1, "one"});
    const std::string text =
        first + encode(NumberedName{NumberedName::Of::counter, 2, "two"});
    for (std::size_t size = 0; size < text.size(); ++size) {
        const auto definitions = decoded(text.substr(0, size));
        EXPECT_EQ(definitions.names.size(), size < first.size() ? 0U : 1U);
        EXPECT_EQ(definitions.damaged, size != 0 && size != first.size());
    }
    EXPECT_EQ(decoded(text).names.size(), 2U);
}

TEST(DefinitionCode, AnUnknownKindEndsTheReading) {
    std::string text = encode(NumberedName{NumberedName::Of::stage, 1, "one"});
    text[0] = 99;
    EXPECT_TRUE(decoded(text).damaged);
}

}  // namespace
}  // namespace metatrain_timing::detail
