#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace metatrain_timing::analyzer {

/// Row ids of one file to indices into the model. Ids that recorders give are small and
/// dense; others may be anything.
class IdMap {
  public:
    /// What `find()` says of an id that no row has, and of one whose row is not wanted
    /// (another run's, say).
    static constexpr std::int32_t kMissing = -2;
    static constexpr std::int32_t kUnwanted = -1;

    void insert(std::int64_t id, std::int32_t index) {
        if (id >= 0 && id < kDenseLimit) {
            if (static_cast<std::size_t>(id) >= dense_.size()) {
                dense_.resize(static_cast<std::size_t>(id) + 1, kMissing);
            }
            dense_[static_cast<std::size_t>(id)] = index;
        } else {
            sparse_[id] = index;
        }
    }

    std::int32_t find(std::int64_t id) const {
        if (id >= 0 && static_cast<std::size_t>(id) < dense_.size()) {
            return dense_[static_cast<std::size_t>(id)];
        }
        const auto found = sparse_.find(id);
        return found == sparse_.end() ? kMissing : found->second;
    }

    /// Calls `visit(id, index)` for every id that has been inserted.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (std::size_t id = 0; id < dense_.size(); ++id) {
            if (dense_[id] != kMissing) {
                visit(static_cast<std::int64_t>(id), dense_[id]);
            }
        }
        for (const auto& [id, index] : sparse_) {
            visit(id, index);
        }
    }

  private:
    static constexpr std::int64_t kDenseLimit = 1 << 22;

    std::vector<std::int32_t> dense_;
    std::unordered_map<std::int64_t, std::int32_t> sparse_;
};

}  // namespace metatrain_timing::analyzer
