// The short form of the fuzzer, for every build: the same damage in the same order.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/fuzz/damage.hpp"
#include "tests/fuzz/trace_input.hpp"

namespace metatrain_timing::test {
namespace {

constexpr unsigned kBytes = 6'000;

class TraceFuzz : public testing::TestWithParam<int> {};

TEST_P(TraceFuzz, DamageGivesAnErrorOrARunThatCanBeLoaded) {
    const auto kind = static_cast<std::uint8_t>(GetParam());
    trace_input(std::vector<std::uint8_t>{kind});  // no damage
    std::mt19937 random(1);
    for (int i = 0; i < 50; ++i) {
        trace_input(random_damage(kind, kBytes, kBytes, random));
    }
}

INSTANTIATE_TEST_SUITE_P(ExportedProfiledBytes, TraceFuzz, testing::Range(0, 3));

}  // namespace
}  // namespace metatrain_timing::test
