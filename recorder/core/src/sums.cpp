#include "recorder/core/src/sums.hpp"

#include <algorithm>

namespace metatrain_timing::detail {
namespace {

// False, and no change, where a sum would not fit.
bool add_to(std::int64_t& sum, std::int64_t value) noexcept {
    std::int64_t result = 0;
    if (__builtin_add_overflow(sum, value, &result)) {
        return false;
    }
    sum = result;
    return true;
}

}  // namespace

bool IntervalSums::add(std::int64_t start_ns, std::int64_t dur_ns,
                       std::int64_t cpu_ns_or_none) noexcept {
    std::int64_t end_ns = start_ns;
    if (dur_ns < 0 || !add_to(end_ns, dur_ns) || !add_to(total_ns, dur_ns)) {
        return false;
    }
    const bool is_first = calls == 0;
    first_ns = is_first ? start_ns : std::min(first_ns, start_ns);
    last_ns = is_first ? end_ns : std::max(last_ns, end_ns);
    ++calls;
    if (cpu_ns_or_none < 0) {
        return true;
    }
    ++cpu_calls;
    return add_to(cpu_ns, cpu_ns_or_none) && add_to(cpu_wall_ns, dur_ns);
}

}  // namespace metatrain_timing::detail
