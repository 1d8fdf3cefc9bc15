#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

/// What the fuzzers of files have in common: see load_input.hpp and ring_input.hpp.
namespace metatrain_timing::test {

/// Ends the process, which a fuzzer notices, where a promise does not hold.
void require(bool holds, const char* what);

std::string content(const std::filesystem::path& path);
void write(const std::filesystem::path& path, const std::string& bytes);

/// `bytes` changed by groups of `offset (3 bytes), length (1 byte), bytes`.
std::string damaged(std::string bytes, std::span<const std::uint8_t> changes);

/// An input for the short forms: `kind`, then a few small changes, half of them below
/// `head_bytes`, where headers and offsets are, the others below `bytes`.
std::vector<std::uint8_t> random_damage(std::uint8_t kind, unsigned head_bytes,
                                        unsigned bytes, std::mt19937& random);

}  // namespace metatrain_timing::test
