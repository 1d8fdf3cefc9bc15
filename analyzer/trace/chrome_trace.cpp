#include "analyzer/trace/chrome_trace.hpp"

#include <rapidjson/writer.h>

#include <string>

#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {
namespace {

class ChromeTrace : public TraceWriter {
  public:
    explicit ChromeTrace(OutputFile& file) : file_(file), json_(file) {}

    void begin(const TrackNames& names) override {
        json_.StartObject();
        key("displayTimeUnit");
        text("ns");
        key("traceEvents");
        json_.StartArray();
        for (const TrackNames::ProcessName& process : names.processes()) {
            name_process(process);
            std::int64_t tid = 0;
            for (const std::string& thread : process.threads) {
                ++tid;
                begin_event("M", "thread_name");
                number("pid", process.pid);
                number("tid", tid);
                argument("name", printable(thread));
                end_event();
            }
        }
    }

    void slice(const TraceSlice& slice) override {
        begin_event(slice.dur_ns < 0 ? "B" : "X", slice.name);
        key("cat");
        text(slice.category);
        time("ts", slice.start_ns);
        if (slice.dur_ns >= 0) {
            time("dur", slice.dur_ns);
        }
        place(slice.track);
        key("args");
        json_.StartObject();
        number_if_known("step", slice.step);
        number_if_known("epoch", slice.epoch);
        number_if_known("batch", slice.batch);
        number_if_known("iterator", slice.iterator);
        if (slice.cpu_ns >= 0) {
            time("cpu_us", slice.cpu_ns);
        }
        json_.EndObject();
        end_event();
    }

    void flow(const TraceFlow& flow) override {
        begin_event(flow.begins ? "s" : "f", "batch");
        key("cat");
        text("batch");
        key("id");
        json_.Uint64(flow.id);
        if (!flow.begins) {
            key("bp");
            text("e");  // the slice around it, not the next one
        }
        time("ts", flow.at_ns);
        place(flow.track);
        end_event();
    }

    void counter(const TraceCounter& counter) override {
        begin_event("C", counter.name);
        time("ts", counter.at_ns);
        place(counter.track);
        key("args");
        json_.StartObject();
        key("value");
        json_.Double(counter.value);
        json_.EndObject();
        // Beside the arguments, each of which would be a line of its own.
        number_if_known("step", counter.step);
        number_if_known("batch", counter.batch);
        number_if_known("iterator", counter.iterator);
        end_event();
    }

    void end(const std::string& metadata) override {
        json_.EndArray();
        key("metadata");
        json_.RawValue(metadata.c_str(), metadata.size(), rapidjson::kObjectType);
        json_.EndObject();
        file_.Put('\n');
    }

  private:
    void name_process(const TrackNames::ProcessName& process) {
        begin_event("M", "process_name");
        number("pid", process.pid);
        argument("name", printable(process.name));
        end_event();
        begin_event("M", "process_sort_index");
        number("pid", process.pid);
        key("args");
        json_.StartObject();
        number("sort_index", process.pid);
        json_.EndObject();
        end_event();
    }

    void begin_event(std::string_view kind, std::string_view name) {
        json_.StartObject();
        key("ph");
        text(kind);
        key("name");
        text(name);
    }

    void end_event() {
        json_.EndObject();
        file_.Put('\n');  // an event a line, for people
    }

    void place(const TraceTrack& track) {
        number("pid", track.pid);
        number("tid", track.tid);
    }

    void argument(std::string_view name, std::string_view value) {
        key("args");
        json_.StartObject();
        key(name);
        text(value);
        json_.EndObject();
    }

    void key(std::string_view name) {
        json_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    }
    void text(std::string_view value) {
        json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void number(std::string_view name, std::int64_t value) {
        key(name);
        json_.Int64(value);
    }
    void number_if_known(std::string_view name, std::int64_t value) {
        if (value >= 0) {
            number(name, value);
        }
    }
    void time(std::string_view name, std::int64_t ns) {
        constexpr double kNsPerUs = 1e3;
        key(name);
        json_.Double(static_cast<double>(ns) / kNsPerUs);
    }

    OutputFile& file_;
    rapidjson::Writer<OutputFile> json_;
};

}  // namespace

std::unique_ptr<TraceWriter> make_chrome_trace(OutputFile& file) {
    return std::make_unique<ChromeTrace>(file);
}

}  // namespace metatrain_timing::analyzer
