#include "analyzer/load/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "analyzer/load/nesting.hpp"

namespace metatrain_timing::analyzer {
namespace {

// NULL and what does not fit become -1: unknown.
std::int32_t small_or_unknown(const Statement& row, int column) {
    const std::int64_t value = row.integer(column);
    if (value == 0 &&
        row.is_null(column)) {  // the type is asked for zeros only: faster
        return -1;
    }
    return value < 0 || value > std::numeric_limits<std::int32_t>::max()
               ? -1
               : static_cast<std::int32_t>(value);
}

std::uint16_t depth_of(const Statement& row, int column) {
    return static_cast<std::uint16_t>(
        std::clamp<std::int64_t>(row.integer(column), 0, 65535));
}

// Makes room for one more. A large vector grows once, to the most it can become: pages
// that stay unused cost nothing, while growing by copying needs both copies at a time.
template <typename Value>
void make_room(std::vector<Value>& values, std::size_t rows_left) {
    constexpr std::size_t kLarge = 64 * 1024;
    if (values.size() < values.capacity() || values.size() < kLarge) {
        return;
    }
    try {
        values.reserve(values.size() + std::max<std::size_t>(rows_left, 1));
    } catch (const std::bad_alloc&) {
        // the address space is limited; grow as usual
    }
}

class Reader {
  public:
    Reader(const Database& db, const FileIds& ids, Run& run)
        : db_(db), ids_(ids), run_(run) {}

    IntervalProblems read() {
        try {
            read_closed();
            read_open();
            read_counters();
        } catch (...) {
            sort_tracks();  // what was read before the damage is to be used
            throw;
        }
        sort_tracks();
        return problems_;
    }

  private:
    void sort_tracks() {
        for (const TrackTarget& target : ids_.track_targets) {
            problems_.cut += static_cast<std::int64_t>(sort_and_nest(track_at(target)));
        }
    }

    Track& track_at(const TrackTarget& target) {
        return run_.processes[target.process].tracks[target.track];
    }

    // The track with this id, nullptr where it is of another run or missing.
    Track* track_of(std::int64_t id) {
        if (id == last_track_id_ && has_last_track_) {
            return last_track_;
        }
        const std::int32_t index = ids_.tracks.find(id);
        has_last_track_ = index != IdMap::kMissing;
        last_track_id_ = id;
        last_track_ =
            index < 0 ? nullptr
                      : &track_at(ids_.track_targets[static_cast<std::size_t>(index)]);
        problems_.dangling += index == IdMap::kMissing ? 1 : 0;
        return last_track_;
    }

    // False: the row refers to what is not there.
    bool set_iterator(const Statement& row, int column, std::int32_t& iterator) {
        const std::int64_t id = row.integer(column);
        if (id == 0 && row.is_null(column)) {
            iterator = -1;
            return true;
        }
        iterator = ids_.iterators.find(id);
        problems_.dangling += iterator < 0 ? 1 : 0;
        return iterator >= 0;
    }

    bool set_name(const IdMap& names, std::int64_t id, std::uint16_t& name) {
        const std::int32_t index = names.find(id);
        problems_.dangling += index < 0 ? 1 : 0;
        name = static_cast<std::uint16_t>(std::max(index, 0));
        return index >= 0;
    }

    void read_closed() {
        const std::int64_t last_id =
            db_.integer("SELECT max(id) FROM main.interval NOT INDEXED");
        Statement row = db_.prepare(
            "SELECT track_id, stage_id, start_ns, dur_ns, depth, step, iterator_id, "
            "batch,"
            " cpu_ns, id FROM main.interval NOT INDEXED ORDER BY id");
        while (row.step()) {
            Track* track = track_of(row.integer(0));
            if (track == nullptr) {
                continue;
            }
            Interval interval;
            if (!set_name(ids_.stages, row.integer(1), interval.stage) ||
                !set_iterator(row, 6, interval.iterator)) {
                continue;
            }
            interval.start_ns = row.integer(2);
            interval.dur_ns = row.integer(3);
            std::int64_t end_ns = 0;
            if (interval.dur_ns < 0 ||
                __builtin_add_overflow(interval.start_ns, interval.dur_ns, &end_ns)) {
                ++problems_.impossible;
                continue;
            }
            interval.depth = depth_of(row, 4);
            interval.step = small_or_unknown(row, 5);
            interval.batch = small_or_unknown(row, 7);
            if (track->intervals.size() == track->intervals.capacity()) {
                make_room(track->intervals, rows_left(row.integer(9), last_id));
            }
            track->intervals.push_back(interval);
            add_cpu_time(*track, row, last_id);
        }
    }

    static std::size_t rows_left(std::int64_t id, std::int64_t last_id) {
        // ids may be anything in a foreign file: a hundred million is more than any has
        constexpr std::uint64_t kMost = 100'000'000;
        const auto left =
            static_cast<std::uint64_t>(last_id) - static_cast<std::uint64_t>(id) + 1;
        return static_cast<std::size_t>(std::min(left, kMost));
    }

    // `cpu_ns` exists from the first interval of the track that has one.
    static void add_cpu_time(Track& track, const Statement& row, std::int64_t last_id) {
        const std::int64_t value = row.integer(8);
        const bool measured = value > 0 || (value == 0 && !row.is_null(8));
        if (!measured && track.cpu_ns.empty()) {
            return;
        }
        track.cpu_ns.resize(track.intervals.size() - 1, -1);
        make_room(track.cpu_ns, rows_left(row.integer(9), last_id));
        track.cpu_ns.push_back(measured ? value : -1);
    }

    void read_open() {
        Statement row = db_.prepare(
            "SELECT track_id, stage_id, start_ns, depth, step, iterator_id, batch"
            " FROM main.open_interval NOT INDEXED ORDER BY id");
        while (row.step()) {
            Track* track = track_of(row.integer(0));
            Interval interval;
            if (track == nullptr ||
                !set_name(ids_.stages, row.integer(1), interval.stage) ||
                !set_iterator(row, 5, interval.iterator)) {
                continue;
            }
            interval.start_ns = row.integer(2);
            interval.depth = depth_of(row, 3);
            interval.step = small_or_unknown(row, 4);
            interval.batch = small_or_unknown(row, 6);
            track->open.push_back(interval);
        }
    }

    void read_counters() {
        Statement row = db_.prepare(
            "SELECT track_id, name_id, at_ns, value, step, iterator_id, batch"
            " FROM main.counter NOT INDEXED ORDER BY id");
        while (row.step()) {
            Track* track = track_of(row.integer(0));
            Counter counter;
            if (track == nullptr ||
                !set_name(ids_.counter_names, row.integer(1), counter.name) ||
                !set_iterator(row, 5, counter.iterator)) {
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
            track->counters.push_back(counter);
        }
    }

    const Database& db_;
    const FileIds& ids_;
    Run& run_;
    IntervalProblems problems_;
    std::int64_t last_track_id_ = 0;
    Track* last_track_ = nullptr;
    bool has_last_track_ = false;
};

}  // namespace

IntervalProblems read_intervals(const Database& db, const FileIds& ids, Run& run) {
    return Reader(db, ids, run).read();
}

}  // namespace metatrain_timing::analyzer
