#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "analyzer/load/each_row.hpp"
#include "analyzer/load/references.hpp"

namespace metatrain_timing::analyzer {

/// Ids of rows, both ends included.
struct IdRange {
    std::int64_t first = 0;
    std::int64_t last = -1;

    std::uint64_t size() const {
        return first > last ? 0
                            : static_cast<std::uint64_t>(last) -
                                  static_cast<std::uint64_t>(first) + 1;
    }
};

inline constexpr IdRange kAllIds{std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()};

/// Those of the table `interval`.
inline IdRange interval_ids(const Database& db) {
    Statement row =
        db.prepare("SELECT min(id), max(id) FROM main.interval NOT INDEXED");
    if (!row.step() || row.is_null(0)) {
        return {};
    }
    return {row.integer(0), row.integer(1)};
}

/// An interval on its way to the track `target`, an index into FileIds::track_targets.
struct StagedInterval {
    std::int32_t target = 0;
    Interval interval;
    std::int64_t cpu_ns = -1;  // -1: not measured
};

/// Turns rows of one connection into parts of the model; `problems` counts the others.
class RowReader {
  public:
    RowReader(const Database& db, const FileIds& ids, IntervalProblems& problems)
        : db_(db), references_(ids, problems), problems_(problems) {}

    /// Calls `sink(StagedInterval)` for every interval with an id in `range`.
    template <typename Sink>
    void read_intervals(const IdRange& range, Sink sink) {
        for_each_row(
            db_,
            "track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id, batch,"
            " cpu_ns",
            "main.interval NOT INDEXED WHERE id BETWEEN ?1 AND ?2",
            [&](Statement& rows) {
                rows.bind(1, range.first);
                rows.bind(2, range.last);
            },
            [&](const RowView& row) {
                StagedInterval staged;
                if (read_interval(row, staged)) {
                    sink(staged);
                }
            });
    }

    /// Calls `sink(target, Interval)` for every open interval.
    template <typename Sink>
    void read_open(Sink sink) {
        Statement row = db_.prepare(
            "SELECT track_id, stage_id, start_ns, depth, step, iterator_id, batch"
            " FROM main.open_interval NOT INDEXED ORDER BY id");
        while (row.step()) {
            const std::int32_t target = references_.target_of(row.integer(0));
            Interval interval;
            if (target >= 0 && references_.set_stage(row.integer(1), interval.stage) &&
                references_.set_iterator(row, 5, interval.iterator)) {
                interval.start_ns = row.integer(2);
                interval.depth = depth_of(row, 3);
                interval.step = small_or_unknown(row, 4);
                interval.batch = small_or_unknown(row, 6);
                sink(target, interval);
            }
        }
    }

    /// Calls `sink(target, Counter)` for every counted value.
    template <typename Sink>
    void read_counters(Sink sink) {
        Statement row = db_.prepare(
            "SELECT track_id, name_id, at_ns, value, step, iterator_id, batch"
            " FROM main.counter NOT INDEXED ORDER BY id");
        while (row.step()) {
            const std::int32_t target = references_.target_of(row.integer(0));
            Counter counter;
            if (target < 0 ||
                !references_.set_counter_name(row.integer(1), counter.name) ||
                !references_.set_iterator(row, 5, counter.iterator)) {
                continue;
            }
            counter.at_ns = row.integer(2);
            counter.value = row.real(3);
            if (!std::isfinite(counter.value)) {
                ++problems_.impossible;
                continue;
            }
            counter.step = small_or_unknown(row, 4);
            counter.batch = small_or_unknown(row, 6);
            sink(target, counter);
        }
    }

  private:
    // NULL and what does not fit become -1: unknown.
    template <typename Row>
    static std::int32_t small_or_unknown(const Row& row, int column) {
        const std::int64_t value = row.integer(column);
        if (value == 0 &&
            row.is_null(column)) {  // the type is asked for zeros only: faster
            return -1;
        }
        return value < 0 || value > std::numeric_limits<std::int32_t>::max()
                   ? -1
                   : static_cast<std::int32_t>(value);
    }

    template <typename Row>
    static std::uint16_t depth_of(const Row& row, int column) {
        return static_cast<std::uint16_t>(
            std::clamp<std::int64_t>(row.integer(column), 0, 65535));
    }

    bool read_interval(const RowView& row, StagedInterval& staged) {
        Interval& interval = staged.interval;
        staged.target = references_.target_of(row.integer(0));
        if (staged.target < 0 ||
            !references_.set_stage(row.integer(1), interval.stage) ||
            !references_.set_iterator(row, 6, interval.iterator)) {
            return false;
        }
        interval.start_ns = row.integer(2);
        interval.dur_ns = row.integer(3);
        std::int64_t end_ns = 0;
        if (interval.dur_ns < 0 ||
            __builtin_add_overflow(interval.start_ns, interval.dur_ns, &end_ns)) {
            ++problems_.impossible;
            return false;
        }
        interval.depth = depth_of(row, 4);
        interval.step = small_or_unknown(row, 5);
        interval.batch = small_or_unknown(row, 7);
        const std::int64_t cpu_ns = row.integer(8);
        if (cpu_ns > 0 || (cpu_ns == 0 && !row.is_null(8))) {
            staged.cpu_ns = cpu_ns;
        }
        return true;
    }

    const Database& db_;
    References references_;
    IntervalProblems& problems_;
};

}  // namespace metatrain_timing::analyzer
