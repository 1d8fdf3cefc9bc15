#include "analyzer/stats/durations.hpp"

#include <utility>

namespace metatrain_timing::analyzer {

void Durations::add(std::int64_t dur_ns) {
    total_ns_ += dur_ns;
    if (long_ns_.empty() && std::in_range<std::uint32_t>(dur_ns)) {
        short_ns_.push_back(static_cast<std::uint32_t>(dur_ns));
        return;
    }
    widen();
    long_ns_.push_back(dur_ns);
}

void Durations::add(const Durations& others) {
    if (long_ns_.empty() && others.long_ns_.empty()) {
        short_ns_.insert(short_ns_.end(), others.short_ns_.begin(),
                         others.short_ns_.end());
    } else {
        widen();
        long_ns_.insert(long_ns_.end(), others.short_ns_.begin(),
                        others.short_ns_.end());
        long_ns_.insert(long_ns_.end(), others.long_ns_.begin(), others.long_ns_.end());
    }
    total_ns_ += others.total_ns_;
}

void Durations::widen() {
    long_ns_.insert(long_ns_.end(), short_ns_.begin(), short_ns_.end());
    short_ns_ = {};
}

std::optional<Summary> Durations::summarize() {
    return long_ns_.empty() ? analyzer::summarize(short_ns_)
                            : analyzer::summarize(long_ns_);
}

}  // namespace metatrain_timing::analyzer
