#include "analyzer/trace/trace_reader.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <zlib.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analyzer/error.hpp"

namespace metatrain_timing::analyzer {
namespace {

// The file as RapidJSON reads it: an input stream of characters, 0 at its end.
class InputFile {
  public:
    using Ch = char;

    explicit InputFile(const std::string& path)
        : file_(gzopen(path.c_str(), "rb")), buffer_(kBufferSize) {
        if (file_ == nullptr) {
            throw Error(path + ": cannot be opened (" +
                        std::generic_category().message(errno) + ")");
        }
        refill();
    }
    ~InputFile() { gzclose(file_); }
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    char Peek() const { return at_ < size_ ? buffer_[at_] : '\0'; }
    char Take() {
        if (at_ >= size_) {
            return '\0';
        }
        const char character = buffer_[at_++];
        ++position_;
        if (at_ == size_) {
            refill();
        }
        return character;
    }
    std::size_t Tell() const { return position_; }

    // Of streams that are written to; a reader of this kind never calls them.
    char* PutBegin() { return nullptr; }
    void Put(char) {}
    void Flush() {}
    std::size_t PutEnd(char*) { return 0; }

    bool is_broken() const { return broken_; }

  private:
    static constexpr unsigned kBufferSize = 1 << 18;

    void refill() {
        const int count = gzread(file_, buffer_.data(), kBufferSize);
        broken_ = broken_ || count < 0;
        size_ = count > 0 ? static_cast<std::size_t>(count) : 0;
        at_ = 0;
    }

    gzFile file_;
    std::vector<char> buffer_;
    std::size_t at_ = 0;
    std::size_t size_ = 0;
    std::size_t position_ = 0;
    bool broken_ = false;
};

// Puts texts and numbers together again, to events and to the members beside them.
class Handler {
  public:
    explicit Handler(const std::function<void(const TraceEvent&)>& visit)
        : visit_(visit) {}

    TraceEnd& end() { return end_; }

    bool Null() { return scalar({}, Json(nullptr)); }
    bool Bool(bool value) { return scalar(value ? "true" : "false", Json(value)); }
    // Numbers come as they are written (kParseNumbersAsStringsFlag), never as these.
    bool Int(int) { return true; }
    bool Uint(unsigned) { return true; }
    bool Int64(std::int64_t) { return true; }
    bool Uint64(std::uint64_t) { return true; }
    bool Double(double) { return true; }
    bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
        return scalar({text, size}, Json(std::string(text, size)));
    }
    bool String(const char* text, rapidjson::SizeType size, bool) {
        return scalar({text, size}, Json(std::string(text, size)));
    }
    bool Key(const char* text, rapidjson::SizeType size, bool) {
        key_.assign(text, size);
        return true;
    }
    bool StartObject() { return start(Json::object()); }
    bool EndObject(rapidjson::SizeType) { return finish(); }
    bool StartArray() { return start(Json::array()); }
    bool EndArray(rapidjson::SizeType) { return finish(); }

  private:
    static constexpr std::size_t kMostDepth = 64;

    // How deep we are: 0 outside, 1 in the object (or the list of events), ...
    bool start(Json kind) {
        const bool is_list = kind.is_array();
        ++depth_;
        if (depth_ == 1) {
            events_at_ = is_list ? 1 : 0;
        } else if (depth_ == 2 && events_at_ == 0 && is_list && key_ == "traceEvents") {
            events_at_ = 2;
        } else if (in_events()) {
            if (depth_ == events_at_ + 1) {
                event_.clear();
            }
            if (depth_ == events_at_ + 2) {
                in_args_ = key_ == "args" && !is_list;
            }
        } else if (open_.size() < kMostDepth) {
            open_.emplace_back(key_, std::move(kind));
        } else {
            return false;  // copies of what is nested deeper would use up the stack
        }
        return true;
    }

    bool finish() {
        --depth_;
        if (events_at_ > 0 && depth_ < events_at_) {
            events_at_ = 0;
        } else if (in_events()) {
            if (depth_ == events_at_) {
                ++end_.event_count;
                visit_(event_);
            } else if (depth_ == events_at_ + 1) {
                in_args_ = false;
            }
        } else if (!open_.empty()) {
            auto [name, value] = std::move(open_.back());
            open_.pop_back();
            keep(name, std::move(value));
        }
        return true;
    }

    bool scalar(std::string_view text, Json value) {
        if (!in_events()) {
            if (depth_ > 0) {
                keep(key_, std::move(value));
            }
        } else if (depth_ == events_at_ + 1) {
            set_field(text);
        } else if (depth_ == events_at_ + 2 && in_args_) {
            event_.args.insert_or_assign(key_, std::string(text));
        }
        return true;
    }

    bool in_events() const { return events_at_ > 0 && depth_ >= events_at_; }

    void set_field(std::string_view text) {
        if (key_ == "ph") {
            event_.phase = text.empty() ? '\0' : text.front();
        } else if (key_ == "name") {
            event_.name = text;
        } else if (key_ == "cat") {
            event_.category = text;
        } else if (key_ == "pid") {
            event_.pid = text;
        } else if (key_ == "tid") {
            event_.tid = text;
        } else if (key_ == "ts") {
            event_.ts_ns = parse_us(std::string(text));
        } else if (key_ == "dur") {
            event_.dur_ns = parse_us(std::string(text));
        } else {
            event_.others.insert_or_assign(key_, std::string(text));
        }
    }

    void keep(const std::string& name, Json value) {
        Json& owner = open_.empty() ? end_.members : open_.back().second;
        if (owner.is_array()) {
            owner.push_back(std::move(value));
        } else {
            owner[name] = std::move(value);
        }
    }

    const std::function<void(const TraceEvent&)>& visit_;
    TraceEnd end_;
    TraceEvent event_;
    std::string key_;
    int depth_ = 0;
    int events_at_ = 0;  // depth of the list of events; 0: not in it
    bool in_args_ = false;
    std::vector<std::pair<std::string, Json>> open_;  // members being read
};

constexpr unsigned kFlags =
    rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag |
    rapidjson::kParseTrailingCommasFlag | rapidjson::kParseIterativeFlag;

}  // namespace

TraceEnd read_trace(const std::string& path,
                    const std::function<void(const TraceEvent&)>& visit) {
    InputFile file(path);
    Handler handler(visit);
    rapidjson::Reader reader;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(file, handler);
    TraceEnd end = std::move(handler.end());
    if (result.IsError() || file.is_broken()) {
        end.damage = fmt::format(
            "{} at byte {}",
            file.is_broken() ? "damaged"
                             : std::string(rapidjson::GetParseError_En(result.Code())),
            result.IsError() ? result.Offset() : file.Tell());
    }
    if (end.event_count == 0) {
        throw Error(path + ": no Chrome trace: " +
                    (end.damage.empty() ? "it has no events" : end.damage));
    }
    return end;
}

}  // namespace metatrain_timing::analyzer
