#include "analyzer/replay/cpu_sharing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace metatrain_timing::analyzer {
namespace {

// When each of the activities, begun at once, is done.
std::vector<double> ends_of(const Cpus& cpus, const std::vector<Work>& works) {
    CpuSharing sharing(cpus, works.size());
    for (std::size_t i = 0; i < works.size(); ++i) {
        sharing.start(i, works[i]);
    }
    std::vector<double> ends(works.size());
    while (sharing.busy_count() > 0) {
        const std::size_t agent = sharing.finish_next();
        ends[agent] = sharing.now_ns();
    }
    return ends;
}

void expect_ends(const Cpus& cpus, const std::vector<Work>& works,
                 const std::vector<double>& wanted) {
    const std::vector<double> ends = ends_of(cpus, works);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(ends[i], wanted[i], 1e-6) << "activity " << i;
    }
}

TEST(CpuSharing, NobodyIsSlowedWhileThereAreCpus) {
    expect_ends({2, 0}, {computing(10), computing(30)}, {10, 30});
    expect_ends({1, 0}, {computing(10), waiting(30)}, {10, 30});
    expect_ends({1, 0}, {{10, 5}, {10, 5}}, {10, 10});
}

TEST(CpuSharing, OneCpuIsSharedEvenly) {
    // Both at half speed until 20, when the shorter has had its 10; then 20 alone.
    expect_ends({1, 0}, {computing(10), computing(30)}, {20, 40});
}

TEST(CpuSharing, WaitingIsNotStretched) {
    // Half of each 10 needs a CPU. Stretched by s, three of them use
    // 3 * 5 / (5 + 5 s) CPUs: one, at s = 2; each takes 5 + 5 * 2.
    expect_ends({1, 0}, {{10, 5}, {10, 5}, {10, 5}}, {15, 15, 15});
}

TEST(CpuSharing, SeveralThreadsOfOneActivityShareToo) {
    expect_ends({2, 0}, {{10, 20}}, {10});
    expect_ends({1, 0}, {{10, 20}}, {20});
    // 3 CPUs wanted, 1.5 there: all at half speed; then the first alone, unslowed.
    expect_ends({1.5, 0}, {{20, 20}, {10, 20}}, {20 + 10, 20});
}

TEST(CpuSharing, ACrowdDoesNotGetAllOfTheCpus) {
    // Three threads get 2 * (1 - 0.375 * 2 / 3) = 1.5 CPUs: half speed. Two get both.
    expect_ends({2, 0.375}, {computing(10), computing(10), computing(10)},
                {20, 20, 20});
    expect_ends({2, 0.375}, {computing(10), computing(10)}, {10, 10});
}

TEST(CpuSharing, NothingTakesNoTime) {
    expect_ends({1, 0}, {waiting(0), computing(5)}, {0, 5});
}

}  // namespace
}  // namespace metatrain_timing::analyzer
