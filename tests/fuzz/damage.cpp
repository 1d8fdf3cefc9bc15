#include "tests/fuzz/damage.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

namespace metatrain_timing::test {

void require(bool holds, const char* what) {
    if (!holds) {
        std::cerr << "broken promise: " << what << '\n';
        std::abort();
    }
}

std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::string damaged(std::string bytes, std::span<const std::uint8_t> changes) {
    while (changes.size() > 4 && !bytes.empty()) {
        const std::size_t offset = (std::size_t{changes[0]} << 16U) |
                                   (std::size_t{changes[1]} << 8U) | changes[2];
        const std::size_t length =
            std::min<std::size_t>(changes[3], changes.size() - 4);
        if (offset >= bytes.size()) {
            bytes.resize(offset % bytes.size());
        } else {
            for (std::size_t i = 0; i < length && offset + i < bytes.size(); ++i) {
                bytes[offset + i] = static_cast<char>(changes[4 + i]);
            }
        }
        changes = changes.subspan(4 + length);
    }
    return bytes;
}

std::vector<std::uint8_t> random_damage(std::uint8_t kind, unsigned head_bytes,
                                        unsigned bytes, std::mt19937& random) {
    const auto below = [&](unsigned limit) {
        return static_cast<unsigned>(random() % limit);
    };
    std::vector<std::uint8_t> input{kind};
    for (unsigned change = 0; change <= below(4); ++change) {
        const unsigned offset = below(below(2) == 0 ? head_bytes : bytes);
        const unsigned length = 1 + below(8);
        input.insert(input.end(), {static_cast<std::uint8_t>(offset >> 16U),
                                   static_cast<std::uint8_t>(offset >> 8U),
                                   static_cast<std::uint8_t>(offset),
                                   static_cast<std::uint8_t>(length)});
        for (unsigned i = 0; i < length; ++i) {
            input.push_back(static_cast<std::uint8_t>(random()));
        }
    }
    return input;
}

}  // namespace metatrain_timing::test
