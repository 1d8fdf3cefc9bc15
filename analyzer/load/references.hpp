#pragma once

#include <algorithm>
#include <cstdint>

#include "analyzer/load/assemble.hpp"
#include "analyzer/load/intervals.hpp"

namespace metatrain_timing::analyzer {

/// What rows of the large tables of one file refer to, in the model. A row that refers
/// to what is not there is counted as dangling.
class References {
  public:
    References(const FileIds& ids, IntervalProblems& problems)
        : ids_(ids), problems_(problems) {}

    /// The target with this track id, an index into FileIds::track_targets; negative
    /// where it is of another run or missing.
    std::int32_t target_of(std::int64_t id) {
        if (!has_last_track_ || id != last_track_id_) {
            last_target_ = ids_.tracks.find(id);
            last_track_id_ = id;
            has_last_track_ = true;
        }
        problems_.dangling += last_target_ == IdMap::kMissing ? 1 : 0;
        return last_target_;
    }

    /// -1 where the column is NULL. False: it refers to what is not there. `row` is a
    /// Statement or a RowView.
    template <typename Row>
    bool set_iterator(const Row& row, int column, std::int32_t& iterator) {
        const std::int64_t id = row.integer(column);
        if (id == 0 && row.is_null(column)) {
            iterator = -1;
            return true;
        }
        iterator = ids_.iterators.find(id);
        problems_.dangling += iterator < 0 ? 1 : 0;
        return iterator >= 0;
    }

    bool set_stage(std::int64_t id, std::uint16_t& stage) {
        return set_name(ids_.stages, id, stage);
    }

    bool set_counter_name(std::int64_t id, std::uint16_t& name) {
        return set_name(ids_.counter_names, id, name);
    }

  private:
    bool set_name(const IdMap& names, std::int64_t id, std::uint16_t& name) {
        const std::int32_t index = names.find(id);
        problems_.dangling += index < 0 ? 1 : 0;
        name = static_cast<std::uint16_t>(std::max(index, 0));
        return index >= 0;
    }

    const FileIds& ids_;
    IntervalProblems& problems_;
    std::int64_t last_track_id_ = 0;
    std::int32_t last_target_ = 0;
    bool has_last_track_ = false;
};

}  // namespace metatrain_timing::analyzer
