#include "recorder/core/src/thinner.hpp"

#include <limits>
#include <metatrain_timing/schema/sql.hpp>
#include <string>
#include <utility>
#include <vector>

#include "recorder/core/src/sql.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr std::int64_t kBehindAll = std::numeric_limits<std::int64_t>::max();

std::int64_t integer_or(SQLite::Statement& row, int index, std::int64_t null_value) {
    const SQLite::Column column = row.getColumn(index);
    return column.isNull() ? null_value : column.getInt64();
}

// Deletes rows that are named in falling order, neighbours with one statement.
class Deletion {
  public:
    explicit Deletion(SQLite::Statement& statement) : statement_(statement) {}

    void add(std::int64_t id) {
        if (ranges_.empty() || !grows_) {
            ranges_.emplace_back(id, id);
        }
        ranges_.back().first = id;
        grows_ = true;
    }
    /// The next row stays.
    void pass_over() { grows_ = false; }

    void run() {
        for (const auto& [first, last] : ranges_) {
            statement_.bind(1, first);
            statement_.bind(2, last);
            detail::run(statement_);
        }
    }

  private:
    SQLite::Statement& statement_;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;
    bool grows_ = false;
};

}  // namespace

Thinner::Thinner(const SQLite::Database& database)
    : totals_(database),
      select_intervals_(database,
                        std::string(schema::statements::select_intervals_before)),
      delete_intervals_(database, std::string(schema::statements::delete_intervals)),
      select_counters_(database,
                       std::string(schema::statements::select_counters_before)),
      delete_counters_(database, std::string(schema::statements::delete_counters)),
      insert_counter_total_(database,
                            std::string(schema::statements::upsert_counter_total)) {
}

void Thinner::sharpen(std::int64_t now_ns) {
    rules_.push_back({now_ns, rule().sharper()});
}

const ThinningRule& Thinner::rule_at(std::int64_t start_ns) const noexcept {
    auto dated = rules_.rbegin();
    while (dated->since_ns > start_ns) {
        ++dated;
    }
    return dated->rule;
}

bool Thinner::keeps_counter(std::int64_t track_id, std::int64_t name_id,
                            std::int64_t iterator_id, const ThinningSubject& subject,
                            double value) {
    return keeps_counter(rule(), {track_id, {name_id, iterator_id}}, subject, value);
}

bool Thinner::keeps_counter(const ThinningRule& rule, const CounterKey& key,
                            const ThinningSubject& subject, double value) {
    if (rule.keeps(subject)) {
        return true;
    }
    counters_[key].add(value);
    return false;
}

void Thinner::begin_walk(std::int64_t first_track_id,
                         const std::vector<WalkedInterval>& open) {
    walking_ = true;
    walked_by_ = rule();
    first_track_id_ = first_track_id;
    intervals_below_ = counters_below_ = kBehindAll;
    walks_.clear();
    for (const WalkedInterval& interval : open) {
        walks_[interval.track_id].enter(interval, rule_at(interval.start_ns));
    }
}

void Thinner::walk(std::size_t count) {
    if (!walk_intervals(count) && !walk_counters(count)) {
        walking_ = false;
        walks_.clear();
    }
}

void Thinner::end_walk() {
    constexpr std::size_t kMoreThanATree = 10'000;
    walked_by_ = ThinningRule();
    walk_intervals(kMoreThanATree);
    walking_ = false;
    walks_.clear();
}

// Looks at the next `count` rows below, whose first columns are id and track. Tracks of
// older runs have smaller ids and their rows lie below: the first of them is the end.
template <typename Keeps>
bool Thinner::walk_rows(SQLite::Statement& select, SQLite::Statement& removal,
                        std::int64_t& below, std::size_t count, Keeps keeps) {
    if (below <= 1) {
        return false;
    }
    select.bind(":below", below);
    select.bind(":count", static_cast<std::int64_t>(count));
    below = 0;
    Deletion deletion(removal);
    while (select.executeStep()) {
        const std::int64_t track_id = select.getColumn(1).getInt64();
        if (track_id < first_track_id_) {
            below = 0;
            break;
        }
        below = select.getColumn(0).getInt64();
        if (keeps(track_id)) {
            deletion.pass_over();
        } else {
            deletion.add(below);
        }
    }
    select.reset();
    deletion.run();
    return true;
}

bool Thinner::walk_intervals(std::size_t count) {
    SQLite::Statement& row = select_intervals_;
    const auto keeps = [&](std::int64_t track_id) {
        WalkedInterval interval;
        interval.track_id = track_id;
        interval.stage_id = row.getColumn(2).getInt64();
        interval.start_ns = row.getColumn(3).getInt64();
        interval.end_ns = interval.start_ns + row.getColumn(4).getInt64();
        interval.subject.step = integer_or(row, 5, -1);
        interval.iterator_id = integer_or(row, 6, 0);
        interval.subject.batch = integer_or(row, 7, -1);
        interval.cpu_ns = integer_or(row, 8, -1);
        interval.subject.iterator_number = integer_or(row, 9, 0);
        interval.subject.row = thinning_row(interval.start_ns);
        return walks_[track_id].keeps(interval, walked_by_, totals_);
    };
    return walk_rows(row, delete_intervals_, intervals_below_, count, keeps);
}

bool Thinner::walk_counters(std::size_t count) {
    SQLite::Statement& row = select_counters_;
    const auto keeps = [&](std::int64_t track_id) {
        ThinningSubject subject;
        subject.step = integer_or(row, 4, -1);
        subject.batch = integer_or(row, 6, -1);
        subject.iterator_number = integer_or(row, 7, 0);
        subject.row = thinning_row(row.getColumn(8).getInt64());
        const CounterKey key{track_id,
                             {row.getColumn(2).getInt64(), integer_or(row, 5, 0)}};
        return keeps_counter(walked_by_, key, subject, row.getColumn(3).getDouble());
    };
    return walk_rows(row, delete_counters_, counters_below_, count, keeps);
}

void Thinner::write() {
    totals_.write();
    for (const auto& [key, sums] : counters_) {
        insert_counter_total_.bind(":track_id", key.first);
        insert_counter_total_.bind(":name_id", key.second.first);
        bind_unless(insert_counter_total_, ":iterator_id", key.second.second, 0);
        insert_counter_total_.bind(":calls", sums.calls);
        insert_counter_total_.bind(":value", sums.value);
        run(insert_counter_total_);
    }
    counters_.clear();
}

void Thinner::commit() noexcept {
    totals_.commit();
}

// What the walk saw since the last commit is lost with it: the stack of a track would
// be that of a later row. It begins anew.
void Thinner::roll_back() noexcept {
    totals_.roll_back();
    counters_.clear();
    walking_ = false;
    walks_.clear();
}

}  // namespace metatrain_timing::detail
