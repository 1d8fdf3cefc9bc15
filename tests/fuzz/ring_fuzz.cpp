// libFuzzer's entry: damaged ring files for who saves their records, see
// ring_input.hpp.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/ring_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    metatrain_timing::test::ring_input({data, size});
    return 0;
}
