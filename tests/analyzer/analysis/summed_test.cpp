#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyzer/analysis/report.hpp"
#include "tests/support/model_builder.hpp"
#include "tests/support/summed_run.hpp"

// What a report says of a run of which most batches are only summed, against what it
// says of the same run with all of them on record.
namespace metatrain_timing::analyzer {
namespace {

using test::At;
using test::ModelBuilder;
using test::summed;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMs = ModelBuilder::kMillisecond;

// Blocks of four batches, one in four, as `ThinningRule` chooses: by pass and batch.
bool keeps_one_in_four(std::int32_t iterator, std::int32_t batch) {
    const std::int32_t block = std::max(batch, 0) / 4;
    return iterator < 0 || (iterator * 7 + block * 5) % 4 == 0;
}

bool keeps_nothing(std::int32_t, std::int32_t) {
    return false;
}

// Three epochs of 64 batches from 2 workers, which are made anew, received and pinned
// by a thread; each epoch ends with 20 batches of an evaluation without workers, and
// every 16th body holds an evaluation of 3 batches. Nothing takes equally long twice.
class Training {
  public:
    explicit Training(int micro_steps = 1) : micro_steps_(micro_steps) {
        run_.run().processes.reserve(16);
        train_ = run_.loader(run_.main(), "train", 2);
        valid_ = run_.loader(run_.main(), "valid", 0);
        probe_ = run_.loader(run_.main(), "probe", 0);
        run_.run().processes.front().started_ns = 0;
        run_.add(run_.main(), "set_up", 5, 40);
        at_ = 100;
        for (int epoch = 0; epoch < 3; ++epoch) {
            train();
            evaluate(valid_, 20);
            run_.add(run_.main(), "checkpoint", at_, at_ + 7);
            at_ += 11;
        }
    }

    Run build() { return run_.build(); }

  private:
    // 1 to 8, without a rhythm.
    double some() {
        state_ = state_ * 1103515245U + 12345U;
        return 1 + static_cast<double>(state_ >> 16U & 7U);
    }

    void train() {
        const auto pass = run_.iterator(train_, "train");
        run_.add(run_.main(), "worker_start", at_, at_ + 20, {pass, -1, step_});
        const double born = at_;
        at_ += 20;
        std::int32_t workers[2];
        double free[2];
        for (int w = 0; w < 2; ++w) {
            workers[w] = run_.worker(train_, w, static_cast<std::int64_t>(born), 0);
            free[w] = born + 9 + some();
            run_.add(workers[w], "worker_start", born, free[w], {pass, -1, -1},
                     "Worker");
        }
        for (int batch = 0; batch < 64; ++batch) {
            const At where{pass, batch, step_};
            const auto w = static_cast<std::size_t>(batch % 2);
            const double asked = at_;
            const double idle = free[w] + some() / 4;
            const double dataset = idle + some();
            const double ready = dataset + 12 + some();
            run_.add(workers[w], "worker_idle", free[w], idle, {pass, batch, -1},
                     "Worker");
            run_.add(workers[w], "fetch", idle, ready, {pass, batch, -1, 900 * kMs},
                     "Worker");
            run_.add(workers[w], "dataset", idle, dataset, {pass, batch, -1}, "Worker");
            run_.add(workers[w], "collate", dataset, ready - 0.5, {pass, batch, -1},
                     "Worker");
            run_.add(workers[w], "send", ready, ready + 1, {pass, batch, -1}, "Feeder");
            run_.add(run_.main(), "pin", ready + 1, ready + 1.5, where, "pin");
            free[w] = ready;
            const double got = std::max(asked, ready + 1.5) + 0.5;
            run_.add(run_.main(), "loader", asked, got, where);
            run_.add(run_.main(), "receive", got - 0.5, got - 0.25, where);
            use(where, got);
            run_.count(run_.main(), "structures", got, some(), where);
        }
        run_.add(run_.main(), "loader_end", at_, at_ + 6, {pass, 64, step_});
        run_.add(run_.main(), "worker_stop", at_ + 1, at_ + 5, {pass, 64, step_});
        at_ += 6;
        for (const std::int32_t worker : workers) {
            run_.run().processes[static_cast<std::size_t>(worker)].ended_ns =
                static_cast<std::int64_t>(at_) * kMs;
        }
        at_ += 2;
    }

    void use(const At& where, double from) {
        double at = from;
        at += 1;
        run_.add(run_.main(), "forward", at, at + 3, where);
        at += 3;
        run_.add(run_.main(), "backward", at, at + 2, where);
        at += 2 + some() / 8;
        const bool steps = (where.batch + 1) % micro_steps_ == 0;
        if (steps) {
            run_.add(run_.main(), "optimizer", at, at + 1, where);
            at += 1;
        }
        if (where.batch % 16 == 5) {
            at_ = at;
            evaluate(probe_, 3);
            at = at_;
        }
        run_.add(run_.main(), "step", from, at + 0.25, where);
        at_ = at + 0.25;
        step_ += steps ? 1 : 0;
    }

    void evaluate(std::int32_t loader, int batches) {
        const auto pass = run_.iterator(loader, "evaluation");
        for (int batch = 0; batch < batches; ++batch) {
            const At where{pass, batch, step_};
            const double got = at_ + 1 + some();
            run_.add(run_.main(), "loader", at_, got, where);
            run_.add(run_.main(), "fetch", at_ + 0.5, got - 0.25, where);
            run_.add(run_.main(), "step", got, got + 2, where);
            run_.add(run_.main(), "forward", got + 0.5, got + 1.5, where);
            at_ = got + 2;
        }
        run_.add(run_.main(), "loader_end", at_, at_ + 0.5, {pass, batches, step_});
        at_ += 0.5;
    }

    ModelBuilder run_;
    int micro_steps_;
    std::int32_t train_ = 0;
    std::int32_t valid_ = 0;
    std::int32_t probe_ = 0;
    std::int32_t step_ = 0;
    double at_ = 0;
    std::uint32_t state_ = 1;
};

// One pass of `count` turns of 10, of which 2 are the wait and 7 the body, with `part`
// of 2 in it.
auto turns(int count, std::string_view part = "") {
    ModelBuilder builder;
    const auto pass =
        builder.iterator(builder.loader(builder.main(), "data", 0), "train");
    for (int batch = 0; batch < count; ++batch) {
        const double at = batch * 10;
        const At where{pass, batch, batch};
        builder.add(builder.main(), "loader", at, at + 2, where);
        builder.add(builder.main(), "step", at + 2, at + 9, where);
        if (!part.empty()) {
            builder.add(builder.main(), part, at + 3, at + 5, where);
        }
    }
    return builder.build();
}

using RowKey = std::tuple<std::string, std::string, std::size_t>;
using RowSums = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

std::map<RowKey, RowSums> sums_of(const std::vector<StageRow>& rows) {
    std::map<RowKey, RowSums> sums;
    for (const StageRow& row : rows) {
        auto& [calls, total_ns, cpu_ns, cpu_wall_ns] =
            sums[{row.stage, row.parent, row.level}];
        calls += row.calls;
        total_ns += row.total_ns;
        cpu_ns += row.cpu_ns.value_or(-1);
        cpu_wall_ns += row.cpu_wall_ns;
    }
    return sums;
}

std::map<std::string, std::int64_t> by_cause(const std::vector<WaitCause>& causes,
                                             bool main) {
    std::map<std::string, std::int64_t> sums;
    for (const WaitCause& cause : causes) {
        if ((cause.cause == "main") == main) {
            sums[cause.cause + ":" + cause.stage] += cause.total_ns;
        }
    }
    return sums;
}

void expect_same_sums(const PhaseReport& some, const PhaseReport& all) {
    EXPECT_EQ(some.name, all.name);
    EXPECT_EQ(some.loader, all.loader);
    EXPECT_EQ(some.steps.epochs, all.steps.epochs);
    EXPECT_EQ(some.steps.steps, all.steps.steps);
    EXPECT_EQ(some.steps.all_steps, all.steps.all_steps);
    EXPECT_EQ(some.steps.micro_steps, all.steps.micro_steps);
    EXPECT_EQ(some.steps.partial_steps, all.steps.partial_steps);
    EXPECT_EQ(some.time.wall_ns, all.time.wall_ns);
    EXPECT_EQ(some.time.loader_ns, all.time.loader_ns);
    EXPECT_EQ(some.time.step_ns, all.time.step_ns);
    EXPECT_EQ(some.time.outside_ns, all.time.outside_ns);
    EXPECT_EQ(some.time.worker_life_ns, all.time.worker_life_ns);
    EXPECT_EQ(sums_of(some.time.main), sums_of(all.time.main));
    EXPECT_EQ(sums_of(some.time.worker), sums_of(all.time.worker));
    EXPECT_EQ(sums_of(some.time.worker_sender), sums_of(all.time.worker_sender));
    EXPECT_EQ(sums_of(some.time.pin), sums_of(all.time.pin));
    ASSERT_EQ(some.workers.size(), all.workers.size());
    for (std::size_t w = 0; w < all.workers.size(); ++w) {
        EXPECT_EQ(some.workers[w].lives, all.workers[w].lives);
        EXPECT_EQ(some.workers[w].life_ns, all.workers[w].life_ns);
        EXPECT_EQ(some.workers[w].busy_ns, all.workers[w].busy_ns);
        EXPECT_EQ(some.workers[w].idle_ns, all.workers[w].idle_ns);
        EXPECT_EQ(some.workers[w].start_ns, all.workers[w].start_ns);
        EXPECT_EQ(some.workers[w].batches, all.workers[w].batches);
    }
    ASSERT_EQ(some.counters.size(), all.counters.size());
    for (std::size_t c = 0; c < all.counters.size(); ++c) {
        EXPECT_EQ(some.counters[c].total, all.counters[c].total);
        EXPECT_EQ(some.counters[c].per_s, all.counters[c].per_s);
    }
    ASSERT_EQ(some.epoch_starts.size(), all.epoch_starts.size());
    for (std::size_t e = 0; e < all.epoch_starts.size(); ++e) {
        EXPECT_EQ(some.epoch_starts[e].worker_start_ns,
                  all.epoch_starts[e].worker_start_ns);
        EXPECT_EQ(some.epoch_starts[e].before_wall_ns,
                  all.epoch_starts[e].before_wall_ns);
        EXPECT_EQ(some.epoch_starts[e].end_ns, all.epoch_starts[e].end_ns);
        if (some.epoch_starts[e].first_wait_ns) {
            EXPECT_EQ(some.epoch_starts[e].first_wait_ns,
                      all.epoch_starts[e].first_wait_ns);
        }
    }
    EXPECT_EQ(by_cause(some.wait_causes, true), by_cause(all.wait_causes, true));
    std::int64_t causes_ns = 0;
    for (const WaitCause& cause : some.wait_causes) {
        causes_ns += cause.total_ns;
    }
    EXPECT_EQ(causes_ns, all.time.loader_ns);
}

void expect_same_sums(const Report& some, const Report& all) {
    ASSERT_EQ(some.phases.size(), all.phases.size());
    for (std::size_t p = 0; p < all.phases.size(); ++p) {
        SCOPED_TRACE(all.phases[p].name + " " + all.phases[p].loader);
        expect_same_sums(some.phases[p], all.phases[p]);
    }
    EXPECT_EQ(some.run_time.wall_ns, all.run_time.wall_ns);
    ASSERT_EQ(some.run_time.rows.size(), all.run_time.rows.size());
    for (std::size_t r = 0; r < all.run_time.rows.size(); ++r) {
        EXPECT_EQ(some.run_time.rows[r].what, all.run_time.rows[r].what);
        EXPECT_EQ(some.run_time.rows[r].total_ns, all.run_time.rows[r].total_ns);
    }
}

TEST(Summed, SumsAndCountsAreThoseOfTheWholeRun) {
    const auto whole = Training().build();
    const auto part = summed(whole, keeps_one_in_four);
    const Report all = make_report(Findings(whole));
    const Report some = make_report(Findings(part));

    ASSERT_THAT(all.phases, SizeIs(3));
    EXPECT_EQ(all.phases[0].steps.steps, 192);
    expect_same_sums(some, all);
    EXPECT_FALSE(all.phases[0].is_summed());
    EXPECT_TRUE(some.phases[0].is_summed());
    EXPECT_EQ(some.phases[0].steps.summed_turns, 144);  // of 192
    EXPECT_LE(some.phases[0].steps.steady_steps, 48);
}

TEST(Summed, StepsOfSeveralTurnsAreCountedByTheirOptimizerCalls) {
    const auto whole = Training(4).build();
    const Report all = make_report(Findings(whole));
    const auto part = summed(whole, [](std::int32_t iterator, std::int32_t batch) {
        return (iterator + (batch + 1) / 6) % 3 == 0;  // cuts steps apart
    });
    const Report some = make_report(Findings(part));

    EXPECT_EQ(all.phases[0].steps.steps, 48);
    expect_same_sums(some, all);
    // What was cut is not taken for a whole step: those have four turns of 6 ms and
    // more.
    EXPECT_GT(some.phases[0].steps.steady_steps, 0);
    EXPECT_GE(some.phases[0].steps.step->median_ns, 4 * 6.0 * kMs);
}

TEST(Summed, APassOfWhichNothingIsOnRecordIsStillOne) {
    const auto whole = Training().build();
    const Report all = make_report(Findings(whole));
    const auto part = summed(whole, keeps_nothing);
    const Report some = make_report(Findings(part));

    expect_same_sums(some, all);
    EXPECT_EQ(some.phases[0].steps.steady_steps, 0);
    EXPECT_EQ(some.phases[0].steps.step, std::nullopt);
    EXPECT_EQ(some.phases[0].epoch_starts[0].first_wait_ns, std::nullopt);
    EXPECT_EQ(by_cause(some.phases[0].wait_causes, false).size(), 1U);  // unattributed
}

TEST(Summed, CausesOfWaitsAreEstimatedWithinTheirErrors) {
    const auto whole = Training().build();
    const Report all = make_report(Findings(whole));
    const auto part = summed(whole, keeps_one_in_four);
    const Report some = make_report(Findings(part));

    std::map<std::string, double> exact;
    for (const WaitCause& cause : all.phases[0].wait_causes) {
        EXPECT_EQ(cause.share_error, std::nullopt);
        exact[cause.cause + cause.stage + std::to_string(cause.worker.value_or(-1))] =
            cause.share;
    }
    int estimated = 0;
    for (const WaitCause& cause : some.phases[0].wait_causes) {
        const double truth = exact[cause.cause + cause.stage +
                                   std::to_string(cause.worker.value_or(-1))];
        if (cause.share_error && cause.cause != "unattributed") {
            EXPECT_LT(std::abs(cause.share - truth), 3.5 * *cause.share_error + 0.005)
                << cause.cause << " " << cause.stage;
            EXPECT_LT(*cause.share_error, 0.1);
            ++estimated;
        }
    }
    EXPECT_GE(estimated, 6);  // collate, dataset of both workers, send, pin, ...
}

TEST(Summed, TheVerdictIsThatOfTheWholeRun) {
    const auto whole = Training().build();
    const Report all = make_report(Findings(whole));
    const auto part = summed(whole, keeps_one_in_four);
    const Report some = make_report(Findings(part));

    EXPECT_EQ(some.verdict.bound_by, all.verdict.bound_by);
    EXPECT_EQ(some.verdict.stage, all.verdict.stage);
    EXPECT_NEAR(some.verdict.wait_share, all.verdict.wait_share, 0.02);
    EXPECT_NEAR(*some.verdict.steady_step_ns, *all.verdict.steady_step_ns,
                0.05 * *all.verdict.steady_step_ns);
    EXPECT_EQ(some.verdict.input->stage, "collate");
    EXPECT_EQ(some.verdict.input->per_unit_ns, all.verdict.input->per_unit_ns);
}

TEST(Summed, TheMeanStepIsThatOfAllSteps) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 0);
    const auto pass = builder.iterator(loader, "train");
    for (int batch = 0; batch < 8; ++batch) {
        const double at = batch * 10;
        const double body = batch < 4 ? 7 : 5;
        builder.add(builder.main(), "loader", at, at + 2, {pass, batch, batch});
        builder.add(builder.main(), "step", at + 2, at + 2 + body,
                    {pass, batch, batch});
    }
    const auto part = summed(
        builder.build(), [](std::int32_t, std::int32_t batch) { return batch < 4; });
    const Report report = make_report(Findings(part));
    const StepSeries& steps = report.phases[0].steps;

    EXPECT_EQ(steps.steps, 8);
    EXPECT_EQ(steps.steady_steps, 3);
    EXPECT_DOUBLE_EQ(steps.step->mean_ns, 8.0 * kMs);    // (4 * 9 + 4 * 7) / 8
    EXPECT_DOUBLE_EQ(steps.step->median_ns, 9.0 * kMs);  // of those on record
    EXPECT_EQ(report.phases[0].time.wall_ns, 77 * kMs);
    EXPECT_EQ(report.phases[0].time.outside_ns, 77 * kMs - 64 * kMs);
}

TEST(Summed, ADroppedEndOfATurnIsNoPartialTurn) {
    auto run = turns(3);
    Track& track = run.processes[0].tracks[0];
    const Interval body = track.intervals[3];  // of the second turn
    track.intervals.erase(track.intervals.begin() + 3);
    track.cpu_ns.erase(track.cpu_ns.begin() + 3);
    IntervalTotal total;
    total.iterator = body.iterator;
    total.stage = body.stage;
    test::summing::add(total, body, -1);
    track.totals = {total};
    const Report report = make_report(Findings(run));

    EXPECT_EQ(report.phases[0].steps.steps, 3);
    EXPECT_EQ(report.phases[0].steps.partial_steps, 0);
    EXPECT_EQ(report.phases[0].time.step_ns, 21 * kMs);
    EXPECT_EQ(report.phases[0].time.wall_ns, 29 * kMs);
}

TEST(Summed, ABodyWhoseWaitIsOnlySummedBelongsToItsLoop) {
    const auto whole = turns(30, "forward");
    // of the third turn only the wait is on record, of the tenth only the body
    auto part = summed(
        whole, [](std::int32_t, std::int32_t batch) { return batch < 3 || batch > 8; });
    Track& track = part.processes[0].tracks[0];
    const auto move_to_sums = [&](std::size_t i, std::size_t node) {
        test::summing::add(track.totals[node], track.intervals[i], -1);
        track.intervals.erase(track.intervals.begin() + static_cast<long>(i));
        track.cpu_ns.erase(track.cpu_ns.begin() + static_cast<long>(i));
    };
    move_to_sums(9, 0);  // loader of the tenth
    move_to_sums(8, 2);  // forward of the third
    move_to_sums(7, 1);
    const Report some = make_report(Findings(part));

    expect_same_sums(some, make_report(Findings(whole)));
    EXPECT_EQ(some.phases[0].steps.steps, 30);
    EXPECT_EQ(some.phases[0].steps.partial_steps, 0);
    EXPECT_DOUBLE_EQ(some.phases[0].steps.step->median_ns, 9.0 * kMs);
    EXPECT_DOUBLE_EQ(some.phases[0].steps.step->p95_ns, 9.0 * kMs);
}

TEST(Summed, AStageNamedStepInABodyIsNoBody) {
    const auto whole = turns(6, "step");
    const auto part = summed(whole, keeps_nothing);
    expect_same_sums(make_report(Findings(part)), make_report(Findings(whole)));
}

TEST(Summed, ASummedStageAroundLoopsIsShownWithoutThem) {
    ModelBuilder builder;
    const auto loader = builder.loader(builder.main(), "data", 0);
    double at = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
        const auto pass = builder.iterator(loader, "train");
        builder.add(builder.main(), "epoch", at, at + 50);
        for (int batch = 0; batch < 4; ++batch) {
            const double begin = at + 5 + batch * 10;
            builder.add(builder.main(), "loader", begin, begin + 2, {pass, batch, 0});
            builder.add(builder.main(), "step", begin + 2, begin + 10,
                        {pass, batch, 0});
        }
        at += 60;
    }
    builder.run().processes[0].started_ns = 0;
    const auto whole = builder.build();
    const auto part = summed(whole, keeps_nothing);
    const Report some = make_report(Findings(part));
    expect_same_sums(some, make_report(Findings(whole)));
    EXPECT_EQ(some.run_time.rows[1].what, "epoch");
    EXPECT_EQ(some.run_time.rows[1].total_ns, 20 * kMs);
}

TEST(Summed, ZippedLoadersStayOneLoop) {
    ModelBuilder builder;
    const auto left = builder.loader(builder.main(), "left", 0);
    const auto right = builder.loader(builder.main(), "right", 0);
    const auto left_pass = builder.iterator(left, "train");
    const auto right_pass = builder.iterator(right, "train");
    for (int batch = 0; batch < 6; ++batch) {
        const double at = batch * 10;
        builder.add(builder.main(), "loader", at, at + 1, {left_pass, batch, batch});
        builder.add(builder.main(), "loader", at + 1, at + 3,
                    {right_pass, batch, batch});
        builder.add(builder.main(), "step", at + 3, at + 10, {left_pass, batch, batch});
    }
    const auto whole = builder.build();
    for (const int kept : {0, 2}) {
        const auto part = summed(
            whole, [kept](std::int32_t, std::int32_t batch) { return batch < kept; });
        const Report some = make_report(Findings(part));
        expect_same_sums(some, make_report(Findings(whole)));
        EXPECT_EQ(some.phases[0].loader, "left + right");
        EXPECT_EQ(some.phases[0].steps.steps, 6);
    }
}

}  // namespace
}  // namespace metatrain_timing::analyzer
