// The short form of the fuzzer, for every build: the same damage in the same order.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/fuzz/damage.hpp"
#include "tests/fuzz/ring_input.hpp"

namespace metatrain_timing::test {
namespace {

// The header has the offsets.
constexpr unsigned kHeadBytes = 16'384;
constexpr unsigned kBytes = 750'000;  // up to the sums of the second thread

class RingFuzz : public testing::TestWithParam<int> {};

TEST_P(RingFuzz, DamageGivesASoundDatabaseAndNoRecordTwice) {
    const auto kind = static_cast<std::uint8_t>(GetParam());
    ring_input(std::vector<std::uint8_t>{kind});  // no damage
    std::mt19937 random(1);
    for (int i = 0; i < 40; ++i) {
        ring_input(random_damage(kind, kHeadBytes, kBytes, random));
    }
}

// They are few among many bytes: counts, keys and values.
TEST_P(RingFuzz, DamageToTheSumsGivesASoundDatabaseAndNoneTwice) {
    const auto kind = static_cast<std::uint8_t>(GetParam());
    std::mt19937 random(2);
    const auto below = [&](unsigned limit) {
        return static_cast<unsigned>(random() % limit);
    };
    constexpr unsigned kKeys = 16 + 16;  // behind the counts
    constexpr unsigned kSums = 16 + 96 * 8;
    for (int i = 0; i < 60; ++i) {
        const unsigned offset = sums_offset() + (i % 3 == 0   ? below(16)
                                                 : i % 3 == 1 ? 16 + below(kKeys)
                                                              : kSums + below(240));
        std::vector<std::uint8_t> input{kind, static_cast<std::uint8_t>(offset >> 16U),
                                        static_cast<std::uint8_t>(offset >> 8U),
                                        static_cast<std::uint8_t>(offset), 8};
        for (int byte = 0; byte < 8; ++byte) {
            input.push_back(static_cast<std::uint8_t>(random()));
        }
        ring_input(input);
    }
}

INSTANTIATE_TEST_SUITE_P(NewWrittenBytes, RingFuzz, testing::Range(0, 3));

}  // namespace
}  // namespace metatrain_timing::test
