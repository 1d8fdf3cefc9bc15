#include "recorder/core/src/ring_image.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <sstream>

#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>
#include "recorder/core/src/adoption.hpp"
#include "recorder/core/src/ring_places.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/query.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::detail {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

class RingImageTest : public testing::Test {
  protected:
    // The ring file of a process that recorded two intervals and was killed; in a
    // folder of its own, as any start removes what nobody can need from the common one.
    void SetUp() override {
        setenv("METATRAIN_TIMING_RING_DIR", (folder_ / "rings").c_str(), 1);
        const auto victim = test::in_child([this] {
            start({.database = database()});
            {
                const Interval interval(stage("first"));
            }
            {
                const Interval interval(stage("second"));
            }
            begin(stage("third"));
            kill(getpid(), SIGKILL);
        });
        ASSERT_EQ(victim.exit_code, 128 + SIGKILL);
        const auto rings = find_rings(database());
        ASSERT_EQ(rings.size(), 1U);
        path_ = rings.front();
    }
    void TearDown() override { unsetenv("METATRAIN_TIMING_RING_DIR"); }

    fs::path database() const { return folder_ / "run.db"; }

    std::optional<RingImage> read() const {
        const int descriptor = open(path_.c_str(), O_RDONLY);
        auto image = RingImage::read(descriptor);
        close(descriptor);
        return image;
    }

    test::TempFolder folder_;
    fs::path path_;
};

TEST_F(RingImageTest, HoldsWhatTheProcessHadRecorded) {
    const auto image = read();
    ASSERT_TRUE(image);
    EXPECT_EQ(image->process().info.role, ProcessInfo::Role::main);
    EXPECT_EQ(image->names().size(), 3U);
    ASSERT_EQ(image->threads().size(), 1U);
    EXPECT_EQ(image->threads()[0]->head.load(), 2U);
    EXPECT_EQ(image->threads()[0]->open.peek(0)->label().name, 3);
    EXPECT_EQ(image->database(), "");
}

TEST_F(RingImageTest, AFileThatWasCutGivesWhatIsLeftOrNothing) {
    const std::string whole = contents(path_);
    for (std::size_t size = 0; size < whole.size(); size += 4096) {
        write_file(path_, whole.substr(0, size));
        const auto image = read();
        EXPECT_FALSE(image && !image->threads().empty());
    }
}

TEST_F(RingImageTest, OfANewerLayoutItIsLeftAlone) {
    std::string text = contents(path_);
    text[offsetof(RingHeader, layout_version)] = 9;
    write_file(path_, text);
    EXPECT_FALSE(read());
    const auto adoption = adopt_dead_rings(
        database(), std::chrono::steady_clock::now() + std::chrono::seconds(9));
    EXPECT_TRUE(adoption.adopted.empty());
    EXPECT_EQ(adoption.left_count, 1);
    EXPECT_TRUE(fs::exists(path_));
}

TEST_F(RingImageTest, KilledBeforeItWasReadyItIsRemoved) {
    for (const std::string& text : {std::string(), std::string(100'000, '\0')}) {
        fs::create_directories(path_.parent_path());  // removed with its last ring
        write_file(path_, text);
        fs::permissions(path_, fs::perms(0600));
        adopt_dead_rings(database(),
                         std::chrono::steady_clock::now() + std::chrono::seconds(9));
        EXPECT_FALSE(fs::exists(path_));
    }
}

// Whatever bytes were changed: a sound database, and no crash.
TEST_F(RingImageTest, DamageGivesASoundDatabase) {
    const std::string whole = contents(path_);
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
    // The header, the definitions and the first records are where it hurts.
    std::uniform_int_distribution<std::size_t> where(0, 180'000);
    std::uniform_int_distribution<int> byte(0, 255);
    for (int round = 0; round < 300; ++round) {
        std::string text = whole;
        for (int change = 0; change < 20; ++change) {
            text[where(random) % text.size()] = static_cast<char>(byte(random));
        }
        const fs::path database = folder_ / ("damaged" + std::to_string(round % 3));
        fs::remove(database);
        const fs::path ring =
            path_.parent_path() / ring_name(database, "00000000-damaged");
        write_file(ring, text);
        fs::permissions(ring, fs::perms(0600));
        adopt_dead_rings(database,
                         std::chrono::steady_clock::now() + std::chrono::seconds(9));
        fs::remove(ring);
        if (fs::exists(database)) {
            EXPECT_EQ(test::query(database, "PRAGMA integrity_check"),
                      std::vector<std::string>{"ok"});
        }
    }
}

}  // namespace
}  // namespace metatrain_timing::detail
