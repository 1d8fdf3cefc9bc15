#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace metatrain_timing::detail {

/// Which row of a table stands for which number of this process. Rows that a
/// transaction made are forgotten when it is rolled back.
class RowIds {
  public:
    /// The row id, 0 if there is none.
    std::int64_t find(std::uint64_t number) const {
        const auto found = ids_.find(number);
        return found == ids_.end() ? 0 : found->second;
    }
    void add(std::uint64_t number, std::int64_t row_id) {
        if (ids_.insert_or_assign(number, row_id).second) {
            fresh_.push_back(number);
        }
    }
    void commit() noexcept { fresh_.clear(); }
    void roll_back() noexcept {
        for (const std::uint64_t number : fresh_) {
            ids_.erase(number);
        }
        fresh_.clear();
    }

  private:
    std::unordered_map<std::uint64_t, std::int64_t> ids_;
    std::vector<std::uint64_t> fresh_;
};

}  // namespace metatrain_timing::detail
