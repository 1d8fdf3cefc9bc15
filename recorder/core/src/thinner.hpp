#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "recorder/core/src/interval_totals.hpp"
#include "recorder/core/src/sums.hpp"
#include "recorder/core/src/thinning_rule.hpp"
#include "recorder/core/src/thinning_walk.hpp"

namespace metatrain_timing::detail {

/// Keeps a file small by leaving rows out that `ThinningRule` does not keep: of records
/// before they are written, and of rows that are in the file already. The sums of what
/// is left out are exact.
///
/// Everything happens inside transactions of the caller, who tells how they end.
class Thinner {
  public:
    explicit Thinner(const SQLite::Database& database);

    const ThinningRule& rule() const noexcept { return rules_.back().rule; }
    /// For what begins from now on. What is nested in something older shares its fate.
    void sharpen(std::int64_t now_ns);
    /// For what began then.
    const ThinningRule& rule_at(std::int64_t start_ns) const noexcept;

    IntervalTotals& totals() noexcept { return totals_; }
    /// Whether a counted value stays; one that does not is added to the sums.
    bool keeps_counter(std::int64_t track_id, std::int64_t name_id,
                       std::int64_t iterator_id, const ThinningSubject& subject,
                       double value);

    /// Begins to look at all rows of tracks from `first_track_id` on, the last first.
    /// `open`: what has not ended, outermost first on each track.
    void begin_walk(std::int64_t first_track_id,
                    const std::vector<WalkedInterval>& open);
    bool is_walking() const noexcept { return walking_; }
    /// Looks at `count` rows more.
    void walk(std::size_t count);
    /// Ends the walk, where all of it would take too long: only parts of what is left
    /// out already are left out too.
    void end_walk();

    /// Before the end of a transaction.
    void write();
    void commit() noexcept;
    void roll_back() noexcept;

  private:
    using CounterKey = std::pair<std::int64_t, std::pair<std::int64_t, std::int64_t>>;

    template <typename Keeps>
    bool walk_rows(SQLite::Statement& select, SQLite::Statement& removal,
                   std::int64_t& below, std::size_t count, Keeps keeps);
    bool walk_intervals(std::size_t count);
    bool walk_counters(std::size_t count);
    bool keeps_counter(const ThinningRule& rule, const CounterKey& key,
                       const ThinningSubject& subject, double value);

    struct DatedRule {
        std::int64_t since_ns = std::numeric_limits<std::int64_t>::min();
        ThinningRule rule;
    };

    std::vector<DatedRule> rules_{1};  // at first all is kept; the sharpest last
    IntervalTotals totals_;
    std::map<CounterKey, CounterSums> counters_;  // of this transaction
    bool walking_ = false;
    ThinningRule walked_by_;  // the rule does not change on the way
    std::int64_t first_track_id_ = 0;
    std::int64_t intervals_below_ = 0;
    std::int64_t counters_below_ = 0;
    std::map<std::int64_t, ThinningWalk> walks_;  // by track
    SQLite::Statement select_intervals_;
    SQLite::Statement delete_intervals_;
    SQLite::Statement select_counters_;
    SQLite::Statement delete_counters_;
    SQLite::Statement insert_counter_total_;
};

/// What the rule looks at where a row is of no batch and no step: a millisecond.
constexpr std::int64_t thinning_row(std::int64_t start_ns) noexcept {
    return start_ns >> 20;
}

}  // namespace metatrain_timing::detail
