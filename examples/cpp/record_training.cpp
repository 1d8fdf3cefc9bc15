// Records a training that is written in C++: a loop with steps and their stages, a
// worker process that makes the batches, and a counter.
//
//     METATRAIN_TIMING_DB=run.db record_training
//     mt-analyze report run.db
//
// Without METATRAIN_TIMING_DB it does the same and records nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>
#include <thread>

namespace {

namespace mt = metatrain_timing;

constexpr int kBatches = 20;

/// Stands for work.
void work(int microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

/// Makes all batches, one after the other, and sends their numbers through a pipe.
void run_worker(std::int64_t loader, std::int64_t pass, int output) {
    // A forked process begins anew: it says what it is before its first record, and
    // repeats the definitions under the numbers its parent gave.
    mt::set_process({.role = mt::ProcessInfo::Role::worker,
                     .worker_id = 0,
                     .loader = loader,
                     .start_method = "fork"});
    mt::define_loader({.name = "train", .num_workers = 1}, loader);
    mt::define_iterator(loader, 0, pass);

    static const mt::StageId fetch = mt::stage("fetch");
    static const mt::StageId dataset = mt::stage("dataset");
    static const mt::StageId collate = mt::stage("collate");
    static const mt::CounterId structures = mt::counter("structures");
    for (std::int64_t batch = 0; batch < kBatches; ++batch) {
        mt::set_context({.iterator = pass, .batch = batch});
        {
            const mt::Interval whole(fetch);
            {
                const mt::Interval part(dataset);
                work(1000);
            }
            const mt::Interval part(collate);
            mt::count(structures, 8);
            work(2000);
        }
        if (write(output, &batch, sizeof(batch)) != sizeof(batch)) {
            break;
        }
    }
    mt::stop();
}

void train_on_a_batch() {
    static const mt::StageId forward = mt::stage("forward");
    static const mt::StageId backward = mt::stage("backward");
    static const mt::StageId optimizer = mt::stage("optimizer");
    {
        const mt::Interval interval(forward);
        work(1500);
    }
    {
        const mt::Interval interval(backward);
        work(1500);
    }
    const mt::Interval interval(optimizer);
    work(300);
}

void run_training(std::int64_t pass, int input) {
    static const mt::StageId loader = mt::stage("loader");
    static const mt::StageId step = mt::stage("step");
    mt::iterator_first_wait(pass);
    mt::iterator_phase(pass, "train");
    for (std::int64_t index = 0; index < kBatches; ++index) {
        mt::set_context({.iterator = pass, .batch = index, .step = index});
        std::int64_t batch = -1;
        {
            const mt::Interval wait(loader);
            if (read(input, &batch, sizeof(batch)) != sizeof(batch)) {
                break;
            }
        }
        {
            const mt::Interval body(step);
            train_on_a_batch();
        }
        mt::turn_ended();
    }
    mt::iterator_ended(pass, true);
}

}  // namespace

int main(int argc, char** argv) {
    mt::Options options = mt::options_from_environment();
    options.command = argc > 0 ? argv[0] : "";
    const bool records = !options.database.empty() && mt::start(options);

    const std::int64_t loader = mt::define_loader({.name = "train", .num_workers = 1});
    const std::int64_t pass = mt::define_iterator(loader, 0);
    mt::fix_identity();  // before the first child, which then belongs to this run

    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
        return 1;
    }
    const pid_t worker = fork();
    if (worker == 0) {
        run_worker(loader, pass, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    run_training(pass, ends[0]);
    waitpid(worker, nullptr, 0);
    mt::stop();

    std::printf("%d steps done\n", kBatches);
    if (records) {
        std::printf("recorded to %s\n", mt::health().file.c_str());
    }
    return 0;
}
