#include "recorder/core/src/uuid.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace metatrain_timing::detail {
namespace {

// The name space of this project's name-based UUIDs; must never change.
constexpr boost::uuids::uuid kNamespace = {{0x5b, 0x0e, 0x0c, 0x5d, 0x3a, 0x0f, 0x4d,
                                            0x5e, 0x9c, 0x1b, 0x6d, 0x74, 0x69, 0x6d,
                                            0x65, 0x72}};

}  // namespace

std::string random_uuid() {
    // Made anew each time: a generator kept over a fork would repeat itself.
    return boost::uuids::to_string(boost::uuids::random_generator_pure()());
}

std::string name_uuid(std::string_view name) {
    const boost::uuids::name_generator_sha1 generate(kNamespace);
    return boost::uuids::to_string(generate(name.data(), name.size()));
}

bool is_uuid(std::string_view text) noexcept {
    if (text.size() != 36) {
        return false;
    }
    for (std::size_t index = 0; index < text.size(); ++index) {
        const bool dash = index == 8 || index == 13 || index == 18 || index == 23;
        const bool digit = (text[index] >= '0' && text[index] <= '9') ||
                           (text[index] >= 'a' && text[index] <= 'f');
        if (dash ? text[index] != '-' : !digit) {
            return false;
        }
    }
    return true;
}

}  // namespace metatrain_timing::detail
