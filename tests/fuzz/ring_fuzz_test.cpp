// The short form of the fuzzer, for every build: the same damage in the same order.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/fuzz/ring_input.hpp"

namespace metatrain_timing::test {
namespace {

// A few small changes, half of them in the header, where the offsets are.
std::vector<std::uint8_t> random_damage(std::uint8_t kind, std::mt19937& random) {
    const auto below = [&](unsigned limit) {
        return static_cast<unsigned>(random() % limit);
    };
    std::vector<std::uint8_t> bytes{kind};
    for (unsigned change = 0; change <= below(4); ++change) {
        const unsigned offset = below(below(2) == 0 ? 16'384 : 450'000);
        const unsigned length = 1 + below(8);
        bytes.insert(bytes.end(), {static_cast<std::uint8_t>(offset >> 16U),
                                   static_cast<std::uint8_t>(offset >> 8U),
                                   static_cast<std::uint8_t>(offset),
                                   static_cast<std::uint8_t>(length)});
        for (unsigned i = 0; i < length; ++i) {
            bytes.push_back(static_cast<std::uint8_t>(random()));
        }
    }
    return bytes;
}

class RingFuzz : public testing::TestWithParam<int> {};

TEST_P(RingFuzz, DamageGivesASoundDatabaseAndNoRecordTwice) {
    const auto kind = static_cast<std::uint8_t>(GetParam());
    ring_input(std::vector<std::uint8_t>{kind});  // no damage
    std::mt19937 random(1);
    for (int i = 0; i < 40; ++i) {
        ring_input(random_damage(kind, random));
    }
}

INSTANTIATE_TEST_SUITE_P(NewWrittenBytes, RingFuzz, testing::Range(0, 3));

}  // namespace
}  // namespace metatrain_timing::test
