#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

/// Small helpers for the JSON that the commands print: ordered keys, SI units, never
/// NaN.
namespace metatrain_timing::analyzer {

using Json = nlohmann::ordered_json;

/// `value`, or null where it is not a number that JSON can hold.
inline Json number(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// `value`, or null where it is unknown.
template <typename Value>
Json or_null(const std::optional<Value>& value) {
    if (!value) {
        return nullptr;
    }
    if constexpr (std::is_floating_point_v<Value>) {
        return number(*value);
    } else {
        return Json(*value);
    }
}

/// `text`, or null where it is empty: unknown.
inline Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

/// Nanoseconds as seconds.
inline double seconds(std::int64_t ns) {
    return static_cast<double>(ns) * 1e-9;
}

/// The same, or null where it is unknown.
inline Json in_seconds(const std::optional<double>& ns) {
    return ns ? number(*ns * 1e-9) : Json(nullptr);
}

/// `[{"code": ..., "text": ...}]`
inline Json warnings_json(const std::vector<Warning>& warnings) {
    Json list = Json::array();
    for (const Warning& warning : warnings) {
        list.push_back({{"code", warning.code}, {"text", warning.text}});
    }
    return list;
}

/// `[{"path": ..., "read": ..., "reason": ...}]`
inline Json files_json(const std::vector<FileStatus>& files) {
    Json list = Json::array();
    for (const FileStatus& file : files) {
        list.push_back({{"path", file.path},
                        {"read", file.read},
                        {"reason", text_or_null(file.reason)}});
    }
    return list;
}

/// The text of `json`, indented, with a final line break; bytes that are not UTF-8
/// become U+FFFD instead of an exception.
inline std::string to_text(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace metatrain_timing::analyzer
