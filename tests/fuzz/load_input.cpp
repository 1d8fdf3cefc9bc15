#include "tests/fuzz/load_input.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <string>
#include <vector>

#include "analyzer/error.hpp"
#include "analyzer/load/list_runs.hpp"
#include "analyzer/load/merge.hpp"
#include "analyzer/load/query.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/fuzz/damage.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

namespace fs = std::filesystem;

// A database, and the journal that a death in a transaction left beside it.
struct Image {
    std::string database;
    std::string journal;
    const char* suffix = "";
};

Image make_image(const char* journal_mode, const char* suffix) {
    const TempFolder folder;
    const fs::path path = folder / "run.db";
    write_main(path);
    if (*suffix != '\0') {
        const pid_t child = fork();
        if (child == 0) {
            RunBuilder file(path);
            file.execute(std::string("PRAGMA journal_mode = ") + journal_mode +
                         "; PRAGMA cache_size = 2; PRAGMA wal_autocheckpoint = 0");
            file.interval(1, "step", 190, 5);
            file.execute("BEGIN");
            for (int i = 0; i < 300; ++i) {
                file.interval(1, "step", 200 + 10 * i, 5);
            }
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    }
    return {content(path), content(path.string() + suffix), suffix};
}

const Image& image(std::size_t kind) {
    static const std::array<Image, 3> kImages{make_image("DELETE", ""),
                                              make_image("DELETE", "-journal"),
                                              make_image("WAL", "-wal")};
    return kImages.at(kind);
}

void check_track(const analyzer::Run& run, const analyzer::Track& track) {
    std::vector<std::int64_t> ends;
    std::int64_t last_start = std::numeric_limits<std::int64_t>::min();
    for (const analyzer::Interval& interval : track.intervals) {
        require(interval.dur_ns >= 0, "a length is not negative");
        require(interval.start_ns >= last_start, "intervals are sorted");
        last_start = interval.start_ns;
        while (!ends.empty() && ends.back() <= interval.start_ns) {
            ends.pop_back();
        }
        require(ends.empty() || interval.end_ns() <= ends.back(), "intervals nest");
        ends.push_back(interval.end_ns());
        require(interval.stage < run.stages.size(), "a stage is known");
        require(interval.iterator < static_cast<std::int64_t>(run.iterators.size()),
                "a pass is known");
    }
    require(track.cpu_ns.empty() || track.cpu_ns.size() == track.intervals.size(),
            "CPU times are parallel");
}

void check_model(const analyzer::Run& run) {
    for (const analyzer::Process& process : run.processes) {
        require(process.loader < static_cast<std::int64_t>(run.loaders.size()),
                "a worker's loader is known");
        for (const analyzer::Track& track : process.tracks) {
            check_track(run, track);
        }
    }
    for (const analyzer::Loader& loader : run.loaders) {
        require(loader.process < static_cast<std::int64_t>(run.processes.size()),
                "a loader's process is known");
    }
    for (const analyzer::Iterator& iterator : run.iterators) {
        require(iterator.loader >= 0 &&
                    iterator.loader < static_cast<std::int64_t>(run.loaders.size()),
                "a pass has a loader");
    }
}

template <typename Action>
void attempt(Action action) {
    try {
        action();
    } catch (const analyzer::Error&) {  // one line for the user: as promised
    }
}

}  // namespace

void load_input(std::span<const std::uint8_t> bytes) {
    const std::size_t kind = bytes.empty() ? 0 : std::size_t{bytes[0]} % 4;
    const auto rest = bytes.empty() ? bytes : bytes.subspan(1);
    static const TempFolder folder;
    const fs::path path = folder / "run.db";
    std::string database(rest.begin(), rest.end());
    std::string journal;
    std::string suffix;
    if (kind < 3) {
        const Image& from = image(kind);
        suffix = from.suffix;
        database = suffix.empty() ? damaged(from.database, rest) : from.database;
        journal = suffix.empty() ? "" : damaged(from.journal, rest);
    }
    write(path, database);
    if (!suffix.empty()) {
        write(path.string() + suffix, journal);
    }

    attempt([&] { check_model(analyzer::load_run(path)); });
    attempt([&] { analyzer::list_runs(path); });
    attempt([&] { analyzer::run_query(path, "", "SELECT * FROM v_step"); });
    attempt([&] {
        analyzer::merge_to(path, "", folder / "all.db");
        check_model(analyzer::load_run(folder / "all.db"));
    });
    require(content(path) == database, "the file is unchanged");
    require(suffix.empty() || content(path.string() + suffix) == journal,
            "the journal is unchanged");
    for (const auto& entry : fs::directory_iterator(folder.path())) {
        fs::remove(entry.path());
    }
}

}  // namespace metatrain_timing::test
