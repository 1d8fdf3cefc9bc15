#include "analyzer/export_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>

#include "analyzer/error.hpp"
#include "analyzer/load/partial_file.hpp"
#include "analyzer/load/run_stream.hpp"
#include "analyzer/render/text.hpp"
#include "analyzer/trace/chrome_trace.hpp"
#include "analyzer/trace/output_file.hpp"
#include "analyzer/trace/run_metadata.hpp"
#include "analyzer/trace/slice_order.hpp"
#include "analyzer/trace/step_window.hpp"
#include "analyzer/trace/trace_clock.hpp"
#include "analyzer/trace/track_names.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kBytesOfAnEvent = 170;
constexpr double kLargeForViewers = 500e6;
constexpr double kMega = 1e6;
constexpr std::string_view kWait = "loader";
constexpr std::string_view kSend = "send";

// Names as they may be shown, and as JSON can hold them.
std::vector<std::string> printable_names(const std::vector<std::string>& names) {
    std::vector<std::string> result;
    for (const std::string& name : names) {
        result.push_back(printable(name));
    }
    return result;
}

// Turns the rows of a run into events of a timeline.
class RunTracer : public RowVisitor {
  public:
    RunTracer(const Run& run, const TraceClock& clock, const TrackNames& names,
              const StepWindow* window, std::optional<std::int64_t> rank,
              TraceWriter& writer)
        : run_(run),
          clock_(clock),
          names_(names),
          window_(window),
          rank_(rank),
          writer_(writer),
          stages_(printable_names(run.stages)),
          counters_(printable_names(run.counter_names)) {
        for (const Iterator& iterator : run.iterators) {
            phases_.push_back(printable(iterator.phase));
        }
    }

    std::uint64_t slice_count() const { return slice_count_; }

    bool wants(std::size_t process) override {
        return !rank_ || run_.processes[process].rank == *rank_;
    }

    void interval(const TrackTarget& at, const Interval& interval,
                  std::int64_t cpu_ns) override {
        if (is_wanted(at.process, interval, interval.end_ns())) {
            order_.add(
                at, interval, cpu_ns,
                [this](const auto& place, const auto& row) { show(place, row); });
        }
    }

    void open(const TrackTarget& at, const Interval& interval) override {
        if (is_wanted(at.process, interval, std::numeric_limits<std::int64_t>::max())) {
            TraceSlice slice = slice_of(at, interval, -1);
            slice.dur_ns = -1;
            write(slice);
        }
    }

    void counter(const TrackTarget& at, const Counter& counter) override {
        const std::int64_t at_ns = clock_.at(at.process, counter.at_ns);
        if (window_ == nullptr ||
            window_->has(at.process, at_ns, at_ns, counter.iterator, counter.batch)) {
            writer_.counter({names_.of(at.process, at.track), counters_[counter.name],
                             at_ns, counter.value, counter.step, counter.iterator,
                             counter.batch});
        }
    }

    void file_ended() override {
        order_.finish([this](const auto& at, const auto& row) { show(at, row); });
    }

  private:
    bool is_wanted(std::size_t process, const Interval& interval,
                   std::int64_t end_ns) const {
        return window_ == nullptr ||
               window_->has(process, clock_.at(process, interval.start_ns),
                            clock_.at(process, end_ns), interval.iterator,
                            interval.batch);
    }

    // A slice, and the arrow from the sending of a batch to the wait that it ends.
    void show(const TrackTarget& at, const SliceOrder::Row& row) {
        const TraceSlice slice = slice_of(at, row.interval, row.cpu_ns);
        write(slice);
        if (row.interval.iterator < 0 || row.interval.batch < 0 || slice.dur_ns == 0) {
            return;
        }
        const Role role = run_.processes[at.process].role;
        const std::string_view stage = run_.stages[row.interval.stage];
        const bool begins = role == Role::worker && stage == kSend;
        const bool ends =
            role == Role::main && stage == kWait && has_workers(row.interval.iterator);
        if (begins || ends) {
            const auto id = static_cast<std::uint64_t>(row.interval.iterator) << 32 |
                            static_cast<std::uint64_t>(row.interval.batch);
            writer_.flow({slice.track, id, slice.start_ns + slice.dur_ns - 1, begins});
        }
    }

    bool has_workers(std::int32_t iterator) const {
        const std::int32_t loader =
            run_.iterators[static_cast<std::size_t>(iterator)].loader;
        return loader >= 0 &&
               run_.loaders[static_cast<std::size_t>(loader)].num_workers > 0;
    }

    TraceSlice slice_of(const TrackTarget& at, const Interval& interval,
                        std::int64_t cpu_ns) const {
        TraceSlice slice;
        slice.track = names_.of(at.process, at.track);
        slice.name = stages_[interval.stage];
        slice.start_ns = clock_.at(at.process, interval.start_ns);
        slice.dur_ns = interval.dur_ns;
        slice.step = interval.step;
        slice.iterator = interval.iterator;
        slice.batch = interval.batch;
        slice.cpu_ns = cpu_ns;
        if (interval.iterator >= 0) {
            const auto pass = static_cast<std::size_t>(interval.iterator);
            slice.category = phases_[pass];
            slice.epoch = run_.iterators[pass].epoch;
        } else {
            slice.category =
                run_.processes[at.process].role == Role::worker ? "worker" : "process";
        }
        return slice;
    }

    void write(const TraceSlice& slice) {
        writer_.slice(slice);
        ++slice_count_;
    }

    const Run& run_;
    const TraceClock& clock_;
    const TrackNames& names_;
    const StepWindow* window_;  // nullptr: all steps
    const std::optional<std::int64_t> rank_;
    TraceWriter& writer_;
    const std::vector<std::string> stages_;
    const std::vector<std::string> counters_;
    std::vector<std::string> phases_;  // of Run::iterators
    SliceOrder order_;
    std::uint64_t slice_count_ = 0;
};

void check_rank(const Run& run, const ExportQuestion& question) {
    if (!question.rank) {
        return;
    }
    std::int64_t most = 0;
    for (const Process& process : run.processes) {
        if (process.rank == *question.rank) {
            return;
        }
        most = std::max(most, process.rank);
    }
    throw Error(fmt::format("{}: no rank {}; there are 0 to {}", question.path,
                            *question.rank, most),
                ErrorCode::usage);
}

void check_steps(const StepWindow& window, const ExportQuestion& question) {
    if (!window.is_empty()) {
        return;
    }
    const auto known = window.known_steps();
    throw Error(known ? fmt::format("{}: no steps {} to {}; there are {} to {}",
                                    question.path, question.steps->first,
                                    question.steps->last, known->first, known->second)
                      : question.path + ": no steps on record; leave --steps out",
                ErrorCode::usage);
}

void warn_of_size(const RunStream& stream, const ExportQuestion& question,
                  const ExportProgress& progress) {
    const double bytes = static_cast<double>(stream.row_count()) * kBytesOfAnEvent;
    if (progress.warn && !question.steps && bytes > kLargeForViewers) {
        progress.warn(
            {"large_trace",
             fmt::format(
                 "this trace gets some {:.0f} MB, and viewers in a browser open "
                 "about {:.0f}: choose a part with --steps 100:200 or --rank 0",
                 bytes / kMega, kLargeForViewers / kMega)});
    }
}

bool ends_with_gz(const std::string& path) {
    return std::filesystem::path(path).extension() == ".gz";
}

}  // namespace

StepSpan StepSpan::parse(const std::string& text) {
    const auto number = [&](std::string_view part) {
        std::int64_t value = 0;
        const auto [end, error] =
            std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc() || end != part.data() + part.size() || value < 0) {
            throw Error("--steps " + text + ": give two steps as 100:200, or one",
                        ErrorCode::usage);
        }
        return value;
    };
    const std::string_view all = text;
    const std::size_t colon = all.find(':');
    const StepSpan range{
        number(all.substr(0, colon)),
        number(colon == std::string_view::npos ? all : all.substr(colon + 1))};
    if (range.first > range.last) {
        throw Error("--steps " + text + ": the first step comes after the last",
                    ErrorCode::usage);
    }
    return range;
}

std::optional<std::int64_t> parse_rank(const std::string& text) {
    if (text.empty()) {
        return std::nullopt;
    }
    std::int64_t rank = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc() || end != text.data() + text.size() || rank < 0) {
        throw Error("rank " + text + ": give a number from 0 on", ErrorCode::usage);
    }
    return rank;
}

ExportAnswer export_run(const ExportQuestion& question,
                        const ExportProgress& progress) {
    const bool to_stdout = question.output == "-";
    std::error_code ignored;
    if (!to_stdout && std::filesystem::exists(
                          std::filesystem::symlink_status(question.output, ignored))) {
        throw Error(question.output +
                    ": exists and is not overwritten; choose another name");
    }
    RunStream stream(question.path, question.run);
    const Run& run = stream.run();
    check_rank(run, question);
    const TraceClock clock(run);
    const TrackNames names(run);
    std::optional<StepWindow> window;
    if (question.steps) {
        window.emplace(run, clock, question.steps->first, question.steps->last);
        stream.visit(*window);
        check_steps(*window, question);
    }
    warn_of_size(stream, question, progress);

    std::optional<PartialFile> partial;
    if (!to_stdout) {
        partial.emplace(question.output);
    }
    OutputFile file(to_stdout ? question.output : partial->name(),
                    question.gzip || ends_with_gz(question.output)
                        ? OutputFile::Compression::gzip
                        : OutputFile::Compression::none);
    const std::unique_ptr<TraceWriter> writer = make_chrome_trace(file);
    RunTracer tracer(run, clock, names, window ? &*window : nullptr, question.rank,
                     *writer);
    writer->begin(names);
    stream.visit(tracer, progress.on_file);
    writer->end(run_metadata(run, clock, names));
    ExportAnswer answer{tracer.slice_count(), file.size(), stream.warnings()};
    file.close();
    if (partial) {
        partial->become_new(question.output);
    }
    return answer;
}

}  // namespace metatrain_timing::analyzer
