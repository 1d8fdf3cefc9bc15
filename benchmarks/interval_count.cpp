// A number of intervals for python/count_bench.py, which has callgrind count what they
// execute: instructions do not depend on how busy a machine is.
//
//     valgrind --tool=callgrind --toggle-collect=mt_counted
//         build/release/benchmarks/interval_count PARTY COUNT FOLDER
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace {

namespace mt = metatrain_timing;

template <typename Body>
void repeat(int count, Body body) {
    for (int index = 0; index < count; ++index) {
        body();
        __asm__ volatile("" ::: "memory");  // a loop of nothing stays a loop
    }
}

/// Gives the drain thread, which the first record starts, time to look at the clocks:
/// what is counted is what a training sees.
void settle() {
    mt::count(mt::counter("start"), 1.0);
    mt::flush();  // opens the file, which takes long under callgrind
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

struct Party {
    bool recording;
    void (*run)(int count);
};

const std::map<std::string, Party> kParties = {
    {"empty", {false, [](int count) { repeat(count, [] {}); }}},
    {"off",
     {false,
      [](int count) {
          const auto stage = mt::stage("stage");
          repeat(count, [stage] { const mt::Interval interval(stage); });
      }}},
    {"on",
     {true,
      [](int count) {
          const auto stage = mt::stage("stage");
          repeat(count, [stage] { const mt::Interval interval(stage); });
      }}},
    {"begin_end",
     {true,
      [](int count) {
          const auto stage = mt::stage("stage");
          repeat(count, [stage] { mt::end(mt::begin(stage)); });
      }}},
    {"count",
     {true,
      [](int count) {
          const auto counter = mt::counter("counter");
          repeat(count, [counter] { mt::count(counter, 1.0); });
      }}},
};

}  // namespace

/// What callgrind counts: this function and all that it calls.
extern "C" __attribute__((noinline)) void mt_counted(const Party& party, int count) {
    party.run(count);
}

int main(int argument_count, char** arguments) {
    CLI::App app("A number of intervals, for callgrind");
    std::string name;
    std::string folder;
    int count = 0;
    app.add_option("PARTY", name)->required()->check(CLI::IsMember(kParties));
    // A full ring would call the drain, which is not what is counted.
    app.add_option("COUNT", count)->required()->check(CLI::Range(1, 4000));
    app.add_option("FOLDER", folder)->required()->check(CLI::ExistingDirectory);
    CLI11_PARSE(app, argument_count, arguments);

    const Party& party = kParties.at(name);
    if (party.recording) {
        mt::start({.database = std::filesystem::path(folder) / "run.db"});
        settle();
    }
    mt_counted(party, count);
    mt::stop();
    return 0;
}
