#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace metatrain_timing::test {

/// Makes a damaged ring file of any bytes, as a killed process leaves it, and has its
/// records saved, twice.
///
/// The first byte chooses what is damaged: 0 the ring file of a process that had
/// written nothing, 1 that of one whose first records are in its database, 2 nothing:
/// the rest is the file. Otherwise each further group `offset (3 bytes), length (1
/// byte), bytes` is written over that place; an offset beyond the end cuts the file
/// there, modulo its size.
///
/// Ends the process where a database is not sound afterwards, where a second time adds
/// a row, or where anything but the database, its folder and the ring file was made.
/// Needs a seed corpus of nothing: the empty input is a valid ring file.
void ring_input(std::span<const std::uint8_t> bytes);

/// Where in the ring file the sums of dropped records lie, of the first thread.
unsigned sums_offset();

}  // namespace metatrain_timing::test
