#pragma once

#include <string>

#include "tests/support/model_builder.hpp"

namespace metatrain_timing::analyzer::test {

/// A training as a report should explain it. In milliseconds, per step of two epochs of
/// 25 steps:
///   wait 8 (the first of an epoch 300, the start of the workers), body 92 = unpack 2 +
///   forward 30 + backward 50 + optimizer 5 + unattributed 5.
/// Each batch costs a worker 150: dataset 20, collate 128 (group_and_join 40,
/// transforms 66 in two, serialize 20), and its sender thread 10. 2 workers, new ones
/// each epoch. Each epoch ends with 3 evaluation batches of 40, and one pass of 4
/// batches comes before the first.
class TrainingScene {
  public:
    TrainingScene() {
        run_.run().processes.reserve(8);
        train_loader_ = run_.loader(run_.main(), "train_set", 2);
        valid_loader_ = run_.loader(run_.main(), "valid_set", 0);
        fit_loader_ = run_.loader(run_.main(), "fit_set", 0);
        auto& process = run_.run().processes.front();
        process.started_ns = 0;
        process.environment = {{"cpu.granted", "2"}, {"torch.version", "2.13.0"}};
        run_.run().command = "mtt train options.yaml";
        run_.run().started_unix_ns = 1'795'960'931'000'000'000;

        fit();
        for (int epoch = 0; epoch < 2; ++epoch) {
            train(epoch);
            validate();
        }
    }

    Run build() { return run_.build(); }

  private:
    void fit() {
        at_ = 1000;
        const auto pass = run_.iterator(fit_loader_, "before-training");
        for (int batch = 0; batch < 4; ++batch) {
            turn(pass, batch, 0, 10, 5);
        }
    }

    void validate() {
        const auto pass = run_.iterator(valid_loader_, "evaluation");
        for (int batch = 0; batch < 3; ++batch) {
            const double start = at_;
            const At where{pass, batch, step_};
            run_.add(run_.main(), "fetch", start + 1, start + 9, where);
            turn(pass, batch, step_, 10, 30);
        }
    }

    void turn(std::int32_t pass, int batch, int step, double wait, double body) {
        const At where{pass, batch, step};
        run_.add(run_.main(), "loader", at_, at_ + wait, where);
        run_.add(run_.main(), "step", at_ + wait, at_ + wait + body, where);
        at_ += wait + body;
    }

    void train(int epoch) {
        const auto pass = run_.iterator(train_loader_, "train");
        run_.add(run_.main(), "worker_start", at_, at_ + 30, {pass, -1, step_});
        at_ += 30;
        const double begin = at_;
        for (int batch = 0; batch < 25; ++batch) {
            const double wait = batch == 0 ? 300 : 8;
            const double body = at_ + wait;
            const At where{pass, batch, step_};
            run_.add(run_.main(), "receive", body - 2, body - 1, where);
            run_.add(run_.main(), "unpack", body, body + 2, where);
            run_.add(run_.main(), "forward", body + 3, body + 33, where);
            run_.add(run_.main(), "backward", body + 34, body + 84, where);
            run_.add(run_.main(), "optimizer", body + 85, body + 90, where);
            run_.count(run_.main(), "structures", body, 8, where);
            turn(pass, batch, step_, wait, 92);
            ++step_;
        }
        run_.add(run_.main(), "loader_end", at_, at_ + 40, {pass, -1, step_});
        at_ += 40;
        workers(pass, epoch, begin);
    }

    void workers(std::int32_t pass, int /*epoch*/, double begin) {
        for (int worker = 0; worker < 2; ++worker) {
            const auto process = run_.worker(train_loader_, worker,
                                             static_cast<std::int64_t>(begin - 20),
                                             static_cast<std::int64_t>(at_ - 5));
            run_.add(process, "worker_start", begin - 20, begin + 100);
            double at = begin + 100;
            for (int batch = worker; batch < 25; batch += 2) {
                const double idle = batch < 2 ? 20 + worker : 25;
                run_.add(process, "worker_idle", at, at + idle);
                at += idle;
                fetch(process, at, {pass, batch});
                at += 150;
            }
            run_.add(process, "worker_idle", at, at_ - 6);
        }
    }

    void fetch(std::int32_t process, double at, At where) {
        run_.add(process, "fetch", at, at + 150, where);
        run_.add(process, "dataset", at, at + 20, where);
        run_.add(process, "collate", at + 21, at + 149, where);
        run_.add(process, "group_and_join", at + 21, at + 61, where);
        run_.add(process, "transforms", at + 61, at + 127, where);
        run_.add(process, "transforms/rotate", at + 61, at + 111, where);
        run_.add(process, "transforms/get_remove_scale_transform.transform", at + 111,
                 at + 126, where);
        run_.add(process, "serialize", at + 128, at + 148, where);
        run_.add(process, "send", at + 150, at + 160, where, "QueueFeederThread");
    }

    ModelBuilder run_;
    std::int32_t train_loader_ = -1;
    std::int32_t valid_loader_ = -1;
    std::int32_t fit_loader_ = -1;
    double at_ = 0;
    int step_ = 0;
};

}  // namespace metatrain_timing::analyzer::test
