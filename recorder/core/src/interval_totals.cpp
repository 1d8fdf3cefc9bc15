#include "recorder/core/src/interval_totals.hpp"

#include <algorithm>
#include <metatrain_timing/schema/sql.hpp>
#include <string>

#include "recorder/core/src/sql.hpp"

namespace metatrain_timing::detail {
namespace {

// A tree of that size is let go after a transaction: each pass over a loader adds
// nodes, and a training has passes without end. Rows of the same node may be several.
constexpr std::size_t kMostNodes = 10'000;

}  // namespace

IntervalTotals::IntervalTotals(const SQLite::Database& database)
    : insert_(database, std::string(schema::statements::upsert_interval_total)),
      update_(database, std::string(schema::statements::update_interval_total)) {
    clear();
}

IntervalTotals::Node IntervalTotals::child(Node parent, std::int64_t track_id,
                                           std::int64_t stage_id,
                                           std::int64_t iterator_id) {
    const Key key{parent, track_id, stage_id, iterator_id};
    const auto [at, is_new] = nodes_.try_emplace(key, rows_.size());
    if (is_new) {
        rows_.push_back({key, 0, {}, true});
        touched_.push_back(at->second);
    }
    return at->second;
}

void IntervalTotals::add(Node node, std::int64_t start_ns, std::int64_t dur_ns,
                         std::int64_t cpu_ns) {
    Row& row = rows_[node];
    if (!row.is_touched) {
        row.is_touched = true;
        touched_.push_back(node);
    }
    row.fresh.add(start_ns, dur_ns, cpu_ns);
}

void IntervalTotals::write() {
    std::sort(touched_.begin(), touched_.end());  // parents are made first
    for (const Node node : touched_) {
        Row& row = rows_[node];
        SQLite::Statement& statement = row.row_id == 0 ? insert_ : update_;
        bind_sums(statement, row.fresh);
        if (row.row_id != 0) {
            update_.bind(":id", row.row_id);
            run(update_);
        } else {
            insert_.bind(":track_id", row.key.track_id);
            bind_unless(insert_, ":parent_id", rows_[row.key.parent].row_id, 0);
            insert_.bind(":stage_id", row.key.stage_id);
            bind_unless(insert_, ":iterator_id", row.key.iterator_id, 0);
            row.row_id = run_for_id(insert_);
        }
        row.fresh = {};
        row.is_touched = false;
    }
    touched_.clear();
}

void IntervalTotals::commit() noexcept {
    if (rows_.size() > kMostNodes) {
        clear();
    }
}

void IntervalTotals::roll_back() noexcept {
    clear();
}

void IntervalTotals::clear() noexcept {
    ++generation_;
    nodes_.clear();
    rows_.assign(1, {});
    touched_.clear();
}

}  // namespace metatrain_timing::detail
