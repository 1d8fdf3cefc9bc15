#include "recorder/core/src/totals.hpp"

#include <bit>

namespace metatrain_timing::detail {

void Totals::add(const Ring& ring, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t position = from; position != to; ++position) {
        const Record& record = ring.at(position);
        switch (record.label.kind) {
            case RecordKind::interval:
            case RecordKind::interval_with_cpu:
                if (record.label.name >= stages_.size()) {
                    stages_.resize(record.label.name + 1U);
                }
                ++stages_[record.label.name].calls;
                stages_[record.label.name].total_ns +=
                    static_cast<std::int64_t>(record.payload);
                break;
            case RecordKind::counter:
                if (record.label.name >= counters_.size()) {
                    counted_.resize(record.label.name + 1U);  // if only one, then it
                    counters_.resize(record.label.name + 1U);
                }
                counters_[record.label.name] += std::bit_cast<double>(record.payload);
                counted_[record.label.name] = true;
                break;
            case RecordKind::cpu:
                break;
        }
    }
}

void Totals::reset() noexcept {
    stages_.clear();
    counters_.clear();
    counted_.clear();
}

}  // namespace metatrain_timing::detail
