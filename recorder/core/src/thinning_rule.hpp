#pragma once

#include <cstdint>

namespace metatrain_timing::detail {

/// What an interval or a counted value is of, as far as thinning looks at it.
struct ThinningSubject {
    std::int64_t iterator_number = 0;  // 0: of no pass over a loader
    std::int64_t batch = -1;           // -1: unknown
    std::int64_t step = -1;            // -1: unknown
    std::int64_t row = 0;              // tells those apart that have none of these
};

/// Which batches and steps are kept one by one once a run has passed its size limit:
/// one block of 16 neighbours in each `keeps_one_in`, drawn by a hash, so that no
/// rhythm of the training falls in with that of the choice.
///
/// All processes choose the same batches of a pass, as it has one number everywhere; a
/// sharper rule keeps some of what a milder one kept.
class ThinningRule {
  public:
    /// From one rule to the next. Less would give no room: SQLite puts pages together
    /// when they are down to a third.
    static constexpr std::uint32_t kFactor = 4;
    static constexpr std::int64_t kBlock = 16;

    ThinningRule() = default;
    /// `keeps_one_in` is a power of kFactor.
    explicit ThinningRule(std::uint32_t keeps_one_in) : one_in_(keeps_one_in) {}

    std::uint32_t keeps_one_in() const noexcept { return one_in_; }
    bool keeps_all() const noexcept { return one_in_ == 1; }
    ThinningRule sharper() const noexcept {
        return one_in_ > UINT32_MAX / kFactor ? *this : ThinningRule(one_in_ * kFactor);
    }

    bool keeps(const ThinningSubject& subject) const noexcept {
        std::uint64_t key = 0;
        const bool begins_pass = subject.batch < 0 && subject.step < 0;  // a worker
        if (subject.iterator_number > 0 && (subject.batch >= 0 || begins_pass)) {
            key = key_of(1, static_cast<std::uint64_t>(subject.iterator_number),
                         begins_pass ? 0 : subject.batch);
        } else if (subject.step >= 0) {
            key = key_of(2, 0, subject.step);
        } else {
            key = key_of(3, 0, subject.row);
        }
        return mixed(key) % one_in_ == 0;
    }

  private:
    static std::uint64_t key_of(std::uint64_t kind, std::uint64_t pass,
                                std::int64_t position) noexcept {
        const auto block = static_cast<std::uint64_t>(position / kBlock);
        return kind << 62U ^ pass << 32U ^ block;
    }

    // The finalizer of SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom
    // number generators", OOPSLA 2014.
    static std::uint64_t mixed(std::uint64_t value) noexcept {
        value += 0x9E3779B97F4A7C15U;
        value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
        value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
        return value ^ (value >> 31U);
    }

    std::uint32_t one_in_ = 1;
};

}  // namespace metatrain_timing::detail
