#include "analyzer/analysis/loader_labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer {
namespace {

using test::ModelBuilder;
using testing::ElementsAre;

std::vector<std::string> labels_of(ModelBuilder& builder) {
    const auto run = builder.build();
    return loader_labels(run, find_passes(run));
}

void add_pass(ModelBuilder& run, std::int32_t loader, double at,
              std::int64_t rank = 0) {
    const auto pass = run.iterator(loader, "train");
    run.add(run.main(rank), "loader", at, at + 1, {pass, 0, 0});
    run.add(run.main(rank), "step", at + 1, at + 10, {pass, 0, 0});
}

TEST(LoaderLabels, AreTheNamesWhereTheyDiffer) {
    ModelBuilder run;
    add_pass(run, run.loader(run.main(), "a", 0), 0);
    add_pass(run, run.loader(run.main(), "b", 0), 20);
    EXPECT_THAT(labels_of(run), ElementsAre("a", "b"));
}

TEST(LoaderLabels, ALoaderThatIsMadeAnewForEveryEpochIsOne) {
    ModelBuilder run;
    add_pass(run, run.loader(run.main(), "data", 0), 0);
    add_pass(run, run.loader(run.main(), "data", 0), 20);
    add_pass(run, run.loader(run.main(), "data", 0), 40);
    EXPECT_THAT(labels_of(run), ElementsAre("data", "data", "data"));
}

TEST(LoaderLabels, LoadersOfOnePlaceThatAreUsedByTurnsAreNumbered) {
    ModelBuilder run;
    const auto first = run.loader(run.main(), "valid", 0);
    const auto second = run.loader(run.main(), "valid", 0);
    for (int epoch = 0; epoch < 2; ++epoch) {
        add_pass(run, first, 100 * epoch);
        add_pass(run, second, 100 * epoch + 50);
    }
    EXPECT_THAT(labels_of(run), ElementsAre("valid", "valid #2"));
}

TEST(LoaderLabels, AreTheSameOnEveryRank) {
    ModelBuilder run;
    for (int rank = 0; rank < 2; ++rank) {
        const auto first = run.loader(run.main(rank), "valid", 0);
        const auto second = run.loader(run.main(rank), "valid", 0);
        for (int epoch = 0; epoch < 2; ++epoch) {
            add_pass(run, first, 100 * epoch, rank);
            add_pass(run, second, 100 * epoch + 50, rank);
        }
    }
    EXPECT_THAT(labels_of(run), ElementsAre("valid", "valid #2", "valid", "valid #2"));
}

TEST(LoaderLabels, ALoaderWithoutANameHasItsNumber) {
    ModelBuilder run;
    add_pass(run, run.loader(run.main(), "", 0), 0);
    EXPECT_THAT(labels_of(run), ElementsAre("loader 1"));
}

}  // namespace
}  // namespace metatrain_timing::analyzer
