// The short form of the fuzzer, for every build: the same damage in the same order.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/fuzz/damage.hpp"
#include "tests/fuzz/load_input.hpp"

namespace metatrain_timing::test {
namespace {

// The first page has the header and the schema.
constexpr unsigned kHeadBytes = 4096;
constexpr unsigned kBytes = 120'000;

class LoadFuzz : public testing::TestWithParam<int> {};

TEST_P(LoadFuzz, DamageGivesAnErrorOrASoundModelAndChangesNoFile) {
    const auto kind = static_cast<std::uint8_t>(GetParam());
    load_input(std::vector<std::uint8_t>{kind});  // no damage
    std::mt19937 random(1);
    for (int i = 0; i < 20; ++i) {
        load_input(random_damage(kind, kHeadBytes, kBytes, random));
    }
}

INSTANTIATE_TEST_SUITE_P(DatabaseJournalWalBytes, LoadFuzz, testing::Range(0, 4));

}  // namespace
}  // namespace metatrain_timing::test
