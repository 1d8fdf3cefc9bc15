#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "recorder/core/src/definition_code.hpp"

namespace metatrain_timing::detail {

class RingStore;

/// Names and the numbers they are recorded by: 1, 2, … in the order they are first
/// seen.
///
/// Names are never forgotten, so a number means the same as long as the process lives
/// and in its forked children. Callable from any thread.
class Names {
  public:
    static constexpr std::size_t kMaxBytes = 255;
    static constexpr std::size_t kMaxCount = 65'535;

    /// The number of `name`, 0 when there are too many.
    std::uint16_t intern(std::string_view name);

    /// The name of a number that `intern()` gave; the reference stays valid.
    const std::string& name(std::uint16_t number) const;

    std::size_t count() const;

    /// Keeps all names in a store, too, as names `of` what; nullptr: in none any more.
    void keep_in(RingStore* store, NumberedName::Of of);

    /// Held over a fork, so that the child finds the table whole.
    std::mutex& mutex() noexcept { return mutex_; }

  private:
    mutable std::mutex mutex_;
    RingStore* store_ = nullptr;
    NumberedName::Of of_ = NumberedName::Of::stage;
    std::deque<std::string> names_;  // does not move what it holds
    std::unordered_map<std::string_view, std::uint16_t> numbers_;  // views into names_
};

}  // namespace metatrain_timing::detail
