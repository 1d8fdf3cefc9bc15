#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "analyzer/analysis/compared_run.hpp"
#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer::test {

/// A training whose steps wait, go forward, backward and step the optimizer. Times in
/// milliseconds; each gets an own deviation of at most `noise` of it.
struct DiffScene {
    std::string uuid = "a";
    std::uint64_t seed = 1;
    int steps = 200;
    int epochs = 1;
    std::int64_t ranks = 1;
    double wait = 4;
    double forward = 10;
    double backward = 20;
    double optimizer = 2;
    double check = 0;  // a stage of its own, where it is not 0
    double noise = 0.05;
    double structures = 0;  // in a batch; 0: not counted
    double start = 0;       // of each epoch: the wait for its first batch is longer
    /// What a step's times are multiplied by, by its number.
    std::function<double(int)> factor = [](int) { return 1.0; };

    ComparedRun prepare(const std::string& phase = "") const {
        auto compared =
            analyzer::prepare(uuid + ".db", std::make_unique<Run>(build()), phase);
        return std::move(compared.value());
    }

    Run build() const {
        ModelBuilder builder;
        builder.run().uuid = uuid;
        std::mt19937_64 random(seed);
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            add_rank(builder, rank, random);
        }
        return builder.build();
    }

  private:
    void add_rank(ModelBuilder& builder, std::int64_t rank,
                  std::mt19937_64& random) const {
        const auto main = builder.main(rank);
        const auto loader = builder.loader(main, "data", 0);
        double at = 0;
        for (int epoch = 0; epoch < epochs; ++epoch) {
            const auto pass = builder.iterator(loader, "train");
            for (int batch = 0; batch < steps / epochs; ++batch) {
                const int step = epoch * (steps / epochs) + batch;
                const At where{pass, batch, step};
                const double scale = factor(step);
                const auto took = [&](double ms) {
                    const double unit =
                        static_cast<double>(random() >> 11U) / 9007199254740992.0;
                    return scale * ms * (1 + noise * (2 * unit - 1));
                };
                const double wait_end = at + took(wait) + (batch == 0 ? start : 0);
                builder.add(main, "loader", at, wait_end, where);
                if (structures > 0) {
                    builder.count(main, "structures", wait_end, structures, where);
                }
                double end = wait_end;
                const auto add = [&](const char* stage, double ms) {
                    const double begin = end;
                    end += took(ms);
                    builder.add(main, stage, begin, end, where);
                };
                add("forward", forward);
                add("backward", backward);
                if (check > 0) {
                    add("check", check);
                }
                add("optimizer", optimizer);
                builder.add(main, "step", wait_end, end, where);
                at = end;
            }
        }
    }
};

}  // namespace metatrain_timing::analyzer::test
