#include "recorder/core/src/thinner.hpp"

#include <limits>
#include <metatrain_timing/schema/sql.hpp>
#include <string>
#include <utility>
#include <vector>

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
            statement_.exec();
            statement_.reset();
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
                            std::string(schema::statements::insert_counter_total)) {
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
    CounterSums& sums = counters_[key];
    ++sums.calls;
    sums.value += value;
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

// Tracks of older runs have smaller ids and their rows lie below: the first of them is
// the end.
bool Thinner::walk_intervals(std::size_t count) {
    if (intervals_below_ <= 1) {
        return false;
    }
    select_intervals_.bind(":below", intervals_below_);
    select_intervals_.bind(":least", std::int64_t{1});
    select_intervals_.bind(":count", static_cast<std::int64_t>(count));
    intervals_below_ = 0;
    Deletion deletion(delete_intervals_);
    while (select_intervals_.executeStep()) {
        WalkedInterval interval;
        const std::int64_t id = select_intervals_.getColumn(0).getInt64();
        interval.track_id = select_intervals_.getColumn(1).getInt64();
        if (interval.track_id < first_track_id_) {
            intervals_below_ = 0;
            break;
        }
        intervals_below_ = id;
        interval.stage_id = select_intervals_.getColumn(2).getInt64();
        interval.start_ns = select_intervals_.getColumn(3).getInt64();
        interval.end_ns = interval.start_ns + select_intervals_.getColumn(4).getInt64();
        interval.subject.step = integer_or(select_intervals_, 5, -1);
        interval.iterator_id = integer_or(select_intervals_, 6, 0);
        interval.subject.batch = integer_or(select_intervals_, 7, -1);
        interval.cpu_ns = integer_or(select_intervals_, 8, -1);
        interval.subject.iterator_number = integer_or(select_intervals_, 9, 0);
        interval.subject.row = thinning_row(interval.start_ns);
        if (walks_[interval.track_id].keeps(interval, walked_by_, totals_)) {
            deletion.pass_over();
        } else {
            deletion.add(id);
        }
    }
    select_intervals_.reset();
    deletion.run();
    return true;
}

bool Thinner::walk_counters(std::size_t count) {
    if (counters_below_ <= 1) {
        return false;
    }
    select_counters_.bind(":below", counters_below_);
    select_counters_.bind(":least", std::int64_t{1});
    select_counters_.bind(":count", static_cast<std::int64_t>(count));
    counters_below_ = 0;
    Deletion deletion(delete_counters_);
    while (select_counters_.executeStep()) {
        const std::int64_t id = select_counters_.getColumn(0).getInt64();
        const std::int64_t track_id = select_counters_.getColumn(1).getInt64();
        if (track_id < first_track_id_) {
            counters_below_ = 0;
            break;
        }
        counters_below_ = id;
        ThinningSubject subject;
        subject.step = integer_or(select_counters_, 4, -1);
        subject.batch = integer_or(select_counters_, 6, -1);
        subject.iterator_number = integer_or(select_counters_, 7, 0);
        subject.row = thinning_row(select_counters_.getColumn(8).getInt64());
        const CounterKey key{track_id,
                             {select_counters_.getColumn(2).getInt64(),
                              integer_or(select_counters_, 5, 0)}};
        if (keeps_counter(walked_by_, key, subject,
                          select_counters_.getColumn(3).getDouble())) {
            deletion.pass_over();
        } else {
            deletion.add(id);
        }
    }
    select_counters_.reset();
    deletion.run();
    return true;
}

void Thinner::write() {
    totals_.write();
    for (const auto& [key, sums] : counters_) {
        insert_counter_total_.bind(":track_id", key.first);
        insert_counter_total_.bind(":name_id", key.second.first);
        if (key.second.second == 0) {
            insert_counter_total_.bind(":iterator_id");
        } else {
            insert_counter_total_.bind(":iterator_id", key.second.second);
        }
        insert_counter_total_.bind(":calls", sums.calls);
        insert_counter_total_.bind(":value", sums.value);
        insert_counter_total_.exec();
        insert_counter_total_.reset();
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
