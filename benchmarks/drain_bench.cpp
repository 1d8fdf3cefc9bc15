// How fast recorded intervals reach the database, what of a core that takes, and how
// much room they need there. Prints one JSON object; python/drain_bench.py compares.
//
//     drain_bench run.db --threads 4 --seconds 60            as fast as nothing is lost
//     drain_bench run.db --threads 4 --seconds 60 --rate 1e6 intervals a second, paced
//
// Without a rate each thread waits for the drain before its ring is full; the rate is
// then what can be sustained from rings to file. With one nobody waits: what the drain
// thread cannot take in time is dropped.
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace mt = metatrain_timing;
using Clock = std::chrono::steady_clock;

constexpr int kBurst = 2000;  // a ring holds 8,192
constexpr int kStagesPerStep = 12;
constexpr int kStepsPerPass = 1000;
constexpr std::chrono::milliseconds kTick{1};

struct Arguments {
    fs::path database;
    int threads = 1;
    double seconds = 5;
    double rate = 0;  // intervals a second of all threads; 0: as fast as can be
};

/// Records intervals that look like those of a training: step, pass and batch are known
/// and move on every twelve intervals.
class Producer {
  public:
    explicit Producer(std::int64_t iterator) : iterator_(iterator) {}

    void record(int count) {
        for (int index = 0; index < count; ++index, ++done_) {
            if (done_ % kStagesPerStep == 0) {
                const std::int64_t step = done_ / kStagesPerStep;
                mt::set_context({.iterator = iterator_,
                                 .batch = step % kStepsPerPass,
                                 .step = step});
            }
            const mt::Interval interval(stage_);
        }
    }

    std::int64_t done() const { return done_; }

  private:
    std::int64_t iterator_;
    mt::StageId stage_ = mt::stage("forward");
    std::int64_t done_ = 0;
};

void saturate(Producer& producer, Clock::time_point deadline) {
    while (Clock::now() < deadline) {
        producer.record(kBurst);
        mt::flush();
    }
}

/// Each millisecond what is due by then, as a loop with many short stages would.
void pace(Producer& producer, double rate, Clock::time_point start,
          Clock::time_point deadline) {
    for (auto now = start; now < deadline; now = Clock::now()) {
        const double elapsed = std::chrono::duration<double>(now - start).count();
        const auto due = static_cast<std::int64_t>(elapsed * rate);
        producer.record(static_cast<int>(due - producer.done()));
        std::this_thread::sleep_until(now + kTick);
    }
}

std::string first_line(const fs::path& path) {
    std::string line;
    std::getline(std::ifstream(path), line);
    return line;
}

/// CPU time of the recorder's own thread so far, in seconds; negative: there is none.
/// The kernel counts it in nanoseconds in the file schedstat.
double drain_cpu_s() {
    for (const auto& task : fs::directory_iterator("/proc/self/task")) {
        if (first_line(task.path() / "comm") == "mt-drain") {
            return std::stod(first_line(task.path() / "schedstat")) / 1e9;
        }
    }
    return -1;
}

double process_cpu_s() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

nlohmann::json run(const Arguments& arguments) {
    mt::start({.database = arguments.database, .max_size_bytes = 0});
    const std::int64_t loader = mt::define_loader({.name = "train"});
    const std::int64_t iterator = mt::define_iterator(loader, 0);
    {
        const mt::Interval makes_the_file(mt::stage("start"));
    }
    mt::flush();
    const double drain_cpu_before = drain_cpu_s();
    const double process_cpu_before = process_cpu_s();

    const auto start = Clock::now();
    const auto deadline = start + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(arguments.seconds));
    std::vector<std::thread> threads;
    for (int index = 0; index < arguments.threads; ++index) {
        threads.emplace_back([&] {
            Producer producer(iterator);
            if (arguments.rate > 0) {
                pace(producer, arguments.rate / arguments.threads, start, deadline);
            } else {
                saturate(producer, deadline);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const double recording_s = seconds_since(start);
    const double drain_cpu = drain_cpu_s() - drain_cpu_before;
    const double process_cpu = process_cpu_s() - process_cpu_before;
    mt::flush();
    const mt::Health health = mt::health();
    mt::stop();
    const double closed_s = seconds_since(start);
    return {
        {"rows", health.recorded_count},
        {"dropped", health.dropped_count},
        {"recording_s", recording_s},
        {"closed_s", closed_s},
        {"drain_cpu_s", drain_cpu},
        {"process_cpu_s", process_cpu},
        {"bytes", fs::file_size(arguments.database)},
    };
}

}  // namespace

int main(int argument_count, char** arguments) {
    CLI::App app("How fast recorded intervals reach the database");
    Arguments given;
    app.add_option("DATABASE", given.database, "a file that is not there yet")
        ->required()
        ->check(CLI::NonexistentPath);
    app.add_option("--threads", given.threads)->check(CLI::PositiveNumber);
    app.add_option("--seconds", given.seconds)->check(CLI::PositiveNumber);
    app.add_option("--rate", given.rate)->check(CLI::NonNegativeNumber);
    CLI11_PARSE(app, argument_count, arguments);
    std::cout << run(given).dump() << '\n';
    return 0;
}
