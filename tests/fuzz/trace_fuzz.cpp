// libFuzzer's entry: damaged Chrome traces for the analyzer, see trace_input.hpp.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/trace_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    metatrain_timing::test::trace_input({data, size});
    return 0;
}
