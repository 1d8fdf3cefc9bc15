// libFuzzer's entry: damaged run files for the analyzer, see load_input.hpp.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/load_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    metatrain_timing::test::load_input({data, size});
    return 0;
}
