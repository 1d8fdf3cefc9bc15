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
constexpr unsigned kBytes = 450'000;

class RingFuzz : public testing::TestWithParam<int> {};

TEST_P(RingFuzz, DamageGivesASoundDatabaseAndNoRecordTwice) {
    const auto kind = static_cast<std::uint8_t>(GetParam());
    ring_input(std::vector<std::uint8_t>{kind});  // no damage
    std::mt19937 random(1);
    for (int i = 0; i < 40; ++i) {
        ring_input(random_damage(kind, kHeadBytes, kBytes, random));
    }
}

INSTANTIATE_TEST_SUITE_P(NewWrittenBytes, RingFuzz, testing::Range(0, 3));

}  // namespace
}  // namespace metatrain_timing::test
