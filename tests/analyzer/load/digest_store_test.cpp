#include "analyzer/load/digest_store.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "analyzer/load/digest_json.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::analyzer {
namespace {

RunDigest digest(const std::string& uuid) {
    RunDigest one;
    one.path = "a.db";
    one.uuid = uuid;
    one.started_unix_ns = 5;
    one.workload = {{"phase", "train"}};
    one.settings = {{"torch.version", "2.13"}};
    one.steps = 7;
    one.step_ns = 41.25e6;
    one.within = 0.01;
    one.mean_ns = 1;
    one.median_ns = 2;
    one.p95_ns = 3;
    one.p99_ns = 4;
    one.stages = {{{"loader", "collate"}, 2.5}};
    one.fetches = {{{"fetch"}, 3.5}};
    one.shifted = true;
    one.ended = false;
    one.warnings = {{"thinned", "so it is"}};
    return one;
}

TEST(DigestStore, WhatIsKeptIsFoundByTheNextCommand) {
    const metatrain_timing::test::TempFolder folder;
    const std::string path = (folder / "cache/history.db").string();
    DigestStore(path).keep("a.db", "", {"stamp", {digest("x"), digest("y")}});
    const StoredDigests found = DigestStore(path).find("a.db", "");
    EXPECT_EQ(found.stamp, "stamp");
    ASSERT_EQ(found.digests.size(), 2U);
    EXPECT_EQ(digest_text(found.digests[0]), digest_text(digest("x")));
    EXPECT_EQ(digest_text(found.digests[1]), digest_text(digest("y")));
    EXPECT_EQ(found.digests[0].step_ns, 41.25e6);
    EXPECT_EQ(found.digests[0].stages[0].path, (StagePath{"loader", "collate"}));
}

TEST(DigestStore, PhasesAndFilesAreApartAndTheNewestCounts) {
    const metatrain_timing::test::TempFolder folder;
    DigestStore store((folder / "history.db").string());
    store.keep("a.db", "", {"1", {digest("x"), digest("y")}});
    store.keep("a.db", "evaluation", {"2", {digest("z")}});
    store.keep("a.db", "", {"3", {digest("w")}});
    const StoredDigests found = store.find("a.db", "");
    EXPECT_EQ(found.stamp, "3");
    ASSERT_EQ(found.digests.size(), 1U);
    EXPECT_EQ(found.digests[0].uuid, "w");
    EXPECT_EQ(store.find("a.db", "evaluation").digests[0].uuid, "z");
    EXPECT_TRUE(store.find("b.db", "").digests.empty());
}

TEST(DigestStore, AnotherDatabaseIsLeftAlone) {
    const metatrain_timing::test::TempFolder folder;
    const std::string path = (folder / "mine.db").string();
    {
        const Database mine = Database::create(path);
        mine.execute("CREATE TABLE digest (mine TEXT)");
    }
    const auto size = std::filesystem::file_size(path);
    DigestStore store(path);
    store.keep("a.db", "", {"1", {digest("x")}});
    EXPECT_TRUE(store.find("a.db", "").digests.empty());
    EXPECT_EQ(std::filesystem::file_size(path), size);
}

TEST(DigestStore, WhatIsNoDatabaseIsLeftAloneToo) {
    const metatrain_timing::test::TempFolder folder;
    const std::string path = (folder / "text").string();
    std::ofstream(path) << "not a database, but a text that is long enough to be one";
    DigestStore store(path);
    store.keep("a.db", "", {"1", {digest("x")}});
    EXPECT_TRUE(store.find("a.db", "").digests.empty());
    DigestStore nowhere((folder / "text/below/history.db").string());
    nowhere.keep("a.db", "", {"1", {digest("x")}});
    EXPECT_TRUE(nowhere.find("a.db", "").digests.empty());
}

TEST(DigestStore, AnotherVersionIsReadAgain) {
    std::string text = digest_text(digest("x"));
    EXPECT_TRUE(parse_digest(text));
    text.replace(text.find("\"version\":1"), 11, "\"version\":0");
    EXPECT_FALSE(parse_digest(text));
    EXPECT_FALSE(parse_digest("{}"));
    EXPECT_FALSE(parse_digest(""));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
