#include "recorder/core/src/utf8.hpp"

#include <algorithm>

namespace metatrain_timing::detail {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) {
    return static_cast<unsigned char>(text[index]);
}

// Length of the well-formed character at the start of `text` (Unicode 15, table 3-7:
// no overlong forms, no surrogates, nothing above U+10FFFF), 0 if there is none.
std::size_t character_length(std::string_view text) {
    const unsigned lead = byte_at(text, 0);
    if (lead < 0x80) {
        return lead == 0 ? 0 : 1;
    }
    const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                               : lead >= 0xE0 && lead <= 0xEF ? 3
                               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                              : 0;
    if (length == 0 || text.size() < length) {
        return 0;
    }
    const unsigned second = byte_at(text, 1);
    const unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < lowest || second > highest) {
        return 0;
    }
    for (std::size_t index = 2; index < length; ++index) {
        if ((byte_at(text, index) & 0xC0U) != 0x80U) {
            return 0;
        }
    }
    return length;
}

}  // namespace

std::string to_utf8(std::string_view text, std::size_t max_bytes) {
    static constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    std::string valid;
    valid.reserve(std::min(text.size(), max_bytes));
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const std::string_view next =
            length == 0 ? kReplacement : text.substr(0, length);
        if (valid.size() + next.size() > max_bytes) {
            break;
        }
        valid += next;
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return valid;
}

}  // namespace metatrain_timing::detail
