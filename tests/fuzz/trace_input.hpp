#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace metatrain_timing::test {

/// Makes a damaged Chrome trace of any bytes, imports it, and reports the run.
///
/// The first byte chooses what is damaged: 0 a trace that `mt-analyze export` wrote, 1
/// one as torch.profiler writes them, 2 nothing: the rest is the file. Changes are as
/// those of load_input.hpp.
///
/// Ends the process where something other than Error is thrown, or a run is made that
/// cannot be loaded. Needs a seed corpus of nothing.
void trace_input(std::span<const std::uint8_t> bytes);

}  // namespace metatrain_timing::test
