#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/render/json.hpp"

/// Values of members of a trace, in which numbers are texts (see TraceEnd) and anything
/// may be missing or of another kind.
namespace metatrain_timing::analyzer {

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    Number value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size()
               ? std::optional(value)
               : std::nullopt;
}

inline std::int64_t integer_of(const Json& object, const char* name,
                               std::int64_t otherwise = 0) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) {
        return otherwise;
    }
    return to_number<std::int64_t>(found->get_ref<const std::string&>())
        .value_or(otherwise);
}

inline std::optional<std::int64_t> maybe_integer_of(const Json& object,
                                                    const char* name) {
    const auto found = object.find(name);
    return found == object.end() || !found->is_string()
               ? std::nullopt
               : to_number<std::int64_t>(found->get_ref<const std::string&>());
}

inline std::string text_of(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>()
                                                       : std::string();
}

inline bool flag_of(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

inline const Json& list_of(const Json& object, const char* name) {
    static const Json kNone = Json::array();
    const auto found = object.find(name);
    return found != object.end() && found->is_array() ? *found : kNone;
}

}  // namespace metatrain_timing::analyzer
