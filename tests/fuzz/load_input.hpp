#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace metatrain_timing::test {

/// Makes a damaged run file of any bytes and has all of the analyzer's loading read it.
///
/// The first byte chooses what is damaged: 0 a plain database, 1 its rollback journal,
/// 2 its WAL, 3 nothing: the rest is the file. Otherwise each further group
/// `offset (3 bytes), length (1 byte), bytes` is written over that place; an offset
/// beyond the end cuts the file there, modulo its size.
///
/// Ends the process where something other than Error is thrown, the model breaks its
/// promises (order, nesting, indices in range) or an input file changes. Needs a seed
/// corpus of nothing: the empty input is a valid database.
void load_input(std::span<const std::uint8_t> bytes);

}  // namespace metatrain_timing::test
