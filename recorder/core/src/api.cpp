#include <metatrain_timing/recorder/recorder.hpp>

#include <fmt/format.h>

#include <cstdlib>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/recorder.hpp"
#include "recorder/core/src/size_limit.hpp"
#include "recorder/core/src/tick_clock.hpp"

namespace metatrain_timing {
namespace {

using detail::Recorder;

// The error boundary: what goes wrong below here, the training never sees.
template <typename Function>
auto guarded(Function&& function) noexcept -> decltype(function(Recorder::instance())) {
    using Result = decltype(function(Recorder::instance()));
    try {
        return function(Recorder::instance());
    } catch (...) {
        return Result();
    }
}

}  // namespace

Options options_from_environment() noexcept {
    Options options;
    try {
        if (const char* const database = std::getenv("METATRAIN_TIMING_DB")) {
            options.database = database;
        }
        if (const char* const text = std::getenv("METATRAIN_TIMING_MAX_SIZE")) {
            const auto bytes = detail::parse_size(text);
            if (bytes) {
                options.max_size_bytes = *bytes;
            } else if (*text != '\0') {
                options.problem = fmt::format(
                    "METATRAIN_TIMING_MAX_SIZE={}: no size like '500 MB'; the limit is "
                    "2 GiB",
                    text);
            }
        }
    } catch (...) {
        options.database.clear();
    }
    return options;
}

bool start(const Options& options) noexcept {
    return guarded([&](Recorder& recorder) { return recorder.start(options); });
}

bool recording() noexcept {
    return detail::epoch.load(std::memory_order_relaxed) != 0;
}

void fix_identity() noexcept {
    guarded([](Recorder& recorder) { recorder.fix_identity(); });
}

std::vector<EnvironmentVariable> environment_for_children() noexcept {
    return guarded(
        [](Recorder& recorder) { return recorder.environment_for_children(); });
}

std::string run_uuid() noexcept {
    return guarded([](Recorder& recorder) { return recorder.run_uuid(); });
}

std::string process_uuid() noexcept {
    return guarded([](Recorder& recorder) { return recorder.process_uuid(); });
}

void set_process(const ProcessInfo& info) noexcept {
    guarded([&](Recorder& recorder) { recorder.set_process(info); });
}

void set_thread_name(std::string_view name) noexcept {
    guarded([&](Recorder& recorder) { recorder.set_thread_name(name); });
}

void set_fact(std::string_view key, std::string_view value) noexcept {
    guarded([&](Recorder& recorder) { recorder.definitions.set_fact(key, value); });
}

void note_problem(std::string_view code, std::string_view text) noexcept {
    guarded([&](Recorder& recorder) {
        recorder.definitions.add_problem(
            {detail::monotonic_ns(), std::string(code), std::string(text)});
    });
}

std::int64_t define_loader(const LoaderInfo& info, std::int64_t number) noexcept {
    return guarded([&](Recorder& recorder) {
        return recorder.definitions.define_loader(info, number);
    });
}

std::int64_t define_iterator(std::int64_t loader, std::int64_t epoch,
                             std::int64_t number) noexcept {
    return guarded([&](Recorder& recorder) {
        return recorder.definitions.define_iterator(loader, epoch, number,
                                                    detail::tick_clock.now_ns());
    });
}

void iterator_first_wait(std::int64_t iterator) noexcept {
    guarded([&](Recorder& recorder) {
        recorder.definitions.first_wait(iterator, detail::tick_clock.now_ns());
    });
}

void iterator_phase(std::int64_t iterator, std::string_view phase) noexcept {
    guarded([&](Recorder& recorder) { recorder.definitions.phase(iterator, phase); });
}

void iterator_ended(std::int64_t iterator, bool exhausted) noexcept {
    guarded([&](Recorder& recorder) {
        recorder.definitions.ended(iterator, exhausted, detail::tick_clock.now_ns());
    });
}

void flush() noexcept {
    guarded([](Recorder& recorder) { recorder.flush(); });
}

void stop() noexcept {
    guarded([](Recorder& recorder) { recorder.stop(false); });
}

void save_children() noexcept {
    guarded([](Recorder& recorder) { recorder.save_children(); });
}

void stop_after_children() noexcept {
    guarded([](Recorder& recorder) { recorder.stop(true); });
}

std::vector<StageTotal> totals() noexcept {
    return guarded([](Recorder& recorder) { return recorder.stage_totals(); });
}

std::vector<CounterTotal> counter_totals() noexcept {
    return guarded([](Recorder& recorder) { return recorder.counter_totals(); });
}

void reset_totals() noexcept {
    guarded([](Recorder& recorder) { recorder.reset_totals(); });
}

Health health() noexcept {
    return guarded([](Recorder& recorder) { return recorder.health(); });
}

std::int64_t now_ns() noexcept {
    return detail::tick_clock.now_ns();
}

}  // namespace metatrain_timing
