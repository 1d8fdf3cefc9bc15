#include "analyzer/load/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "analyzer/load/each_row.hpp"
#include "analyzer/load/nesting.hpp"
#include "analyzer/load/references.hpp"
#include "analyzer/load/try_thread.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Ids of rows, both ends included.
struct IdRange {
    std::int64_t first = 0;
    std::int64_t last = -1;

    std::uint64_t size() const {
        return first > last ? 0
                            : static_cast<std::uint64_t>(last) -
                                  static_cast<std::uint64_t>(first) + 1;
    }
};

constexpr IdRange kAllIds{std::numeric_limits<std::int64_t>::min(),
                          std::numeric_limits<std::int64_t>::max()};

IdRange interval_ids(const Database& db) {
    Statement row =
        db.prepare("SELECT min(id), max(id) FROM main.interval NOT INDEXED");
    if (!row.step() || row.is_null(0)) {
        return {};
    }
    return {row.integer(0), row.integer(1)};
}

// NULL and what does not fit become -1: unknown.
template <typename Row>
std::int32_t small_or_unknown(const Row& row, int column) {
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
std::uint16_t depth_of(const Row& row, int column) {
    return static_cast<std::uint16_t>(
        std::clamp<std::int64_t>(row.integer(column), 0, 65535));
}

// An interval on its way to the track `target`, an index into FileIds::track_targets.
struct StagedInterval {
    std::int32_t target = 0;
    Interval interval;
    std::int64_t cpu_ns = -1;  // -1: not measured
};

// Turns rows of one connection into parts of the model; `problems` counts the others.
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

// The tracks of one file in the model, being filled.
class Tracks {
  public:
    Tracks(const FileIds& ids, Run& run, std::uint64_t row_count)
        : rows_left_(row_count) {
        for (const TrackTarget& target : ids.track_targets) {
            tracks_.push_back(&run.processes[target.process].tracks[target.track]);
        }
    }

    Track& at(std::int32_t target) {
        return *tracks_[static_cast<std::size_t>(target)];
    }

    void append(const StagedInterval& staged) {
        Track& track = at(staged.target);
        make_room(track.intervals);
        track.intervals.push_back(staged.interval);
        // CPU times exist from the first interval of the track that has one
        if (staged.cpu_ns >= 0 || !track.cpu_ns.empty()) {
            track.cpu_ns.resize(track.intervals.size() - 1, -1);
            make_room(track.cpu_ns);
            track.cpu_ns.push_back(staged.cpu_ns);
        }
        rows_left_ -= rows_left_ > 0 ? 1 : 0;
    }

    std::int64_t sort() {
        std::size_t cut = 0;
        for (Track* track : tracks_) {
            cut += sort_and_nest(*track);
        }
        return static_cast<std::int64_t>(cut);
    }

  private:
    // A large vector grows once, to the most it can become: pages that stay unused cost
    // nothing, while growing by copying needs both copies at a time.
    template <typename Value>
    void make_room(std::vector<Value>& values) const {
        constexpr std::size_t kLarge = 64 * 1024;
        constexpr std::uint64_t kMost = 100'000'000;  // ids may be anything
        if (values.size() < values.capacity() || values.size() < kLarge) {
            return;
        }
        try {
            values.reserve(values.size() + 1 + std::min(rows_left_, kMost));
        } catch (const std::bad_alloc&) {
            // the address space is limited; grow as usual
        }
    }

    std::vector<Track*> tracks_;
    std::uint64_t rows_left_;
};

void read_small(RowReader& reader, Tracks& tracks) {
    reader.read_open([&](std::int32_t target, const Interval& interval) {
        tracks.at(target).open.push_back(interval);
    });
    reader.read_counters([&](std::int32_t target, const Counter& counter) {
        tracks.at(target).counters.push_back(counter);
    });
}

// Two threads read chunks of rows in turns; each hands its chunk over when those before
// it are there, so that the order of rows is kept and memory is bounded.
class ParallelReader {
  public:
    ParallelReader(const IdRange& ids, std::uint64_t chunk_size,
                   const FileIds& file_ids, Tracks& tracks)
        : ids_(ids), chunk_size_(chunk_size), file_ids_(file_ids), tracks_(tracks) {}

    void read(RunFile& file, IntervalProblems& problems) {
        const Database& first = file.database();
        {
            const std::jthread second = try_thread([&] {
                work([&] { return RunFile::open(file.path()); },
                     [](RunFile& own) -> const Database& { return own.database(); });
            });
            work([] { return 0; }, [&](int) -> const Database& { return first; });
        }
        problems.add(problems_);
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    template <typename Open, typename Connection>
    void work(Open open, Connection connection) {
        // on the thread's own stack: counters side by side would share a cache line
        IntervalProblems problems;
        try {
            auto opened = open();
            RowReader reader(connection(opened), file_ids_, problems);
            std::vector<StagedInterval> rows;
            rows.reserve(chunk_size_);
            for (std::uint64_t chunk = take(); chunk * chunk_size_ < ids_.size();
                 chunk = take()) {
                rows.clear();
                try {
                    reader.read_intervals(
                        range_of(chunk),
                        [&](const StagedInterval& row) { rows.push_back(row); });
                } catch (...) {
                    hand_over(chunk, rows);
                    throw;
                }
                hand_over(chunk, rows);
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) {
                failure_ = std::current_exception();
            }
            taken_ = ids_.size() / chunk_size_ + 1;  // no more
        }
        const std::lock_guard lock(mutex_);
        problems_.add(problems);
    }

    std::uint64_t take() {
        const std::lock_guard lock(mutex_);
        return taken_++;
    }

    IdRange range_of(std::uint64_t chunk) const {
        const auto first = ids_.first + static_cast<std::int64_t>(chunk * chunk_size_);
        return {first, std::min(ids_.last,
                                first + static_cast<std::int64_t>(chunk_size_) - 1)};
    }

    void hand_over(std::uint64_t chunk, const std::vector<StagedInterval>& rows) {
        std::unique_lock lock(mutex_);
        turn_.wait(lock, [&] { return appended_ == chunk; });
        lock.unlock();  // it is this thread's turn until it says otherwise
        std::exception_ptr failure;
        try {
            for (const StagedInterval& row : rows) {
                tracks_.append(row);
            }
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        ++appended_;  // whatever happened: the other thread may be waiting
        turn_.notify_all();
        if (failure) {
            std::rethrow_exception(failure);
        }
    }

    const IdRange ids_;
    const std::uint64_t chunk_size_;
    const FileIds& file_ids_;
    Tracks& tracks_;
    std::mutex mutex_;
    std::condition_variable turn_;
    std::uint64_t taken_ = 0;     // chunks, by the mutex
    std::uint64_t appended_ = 0;  // chunks, by the mutex
    IntervalProblems problems_;   // by the mutex
    std::exception_ptr failure_;  // by the mutex
};

// Reads by `read_rows(tracks)`, and leaves sound tracks also where that fails.
template <typename ReadRows>
void fill(Tracks& tracks, IntervalProblems& problems, ReadRows read_rows) {
    try {
        read_rows();
    } catch (...) {
        problems.cut += tracks.sort();  // what was read before the damage is to be used
        throw;
    }
    problems.cut += tracks.sort();
}

}  // namespace

void IntervalProblems::add(const IntervalProblems& other) {
    dangling += other.dangling;
    impossible += other.impossible;
    cut += other.cut;
}

void read_intervals(RunFile& file, const FileIds& ids, Run& run,
                    IntervalProblems& problems) {
    const Database& db = file.database();
    Tracks tracks(ids, run, interval_ids(db).size());
    RowReader reader(db, ids, problems);
    fill(tracks, problems, [&] {
        reader.read_intervals(kAllIds,
                              [&](const StagedInterval& row) { tracks.append(row); });
        read_small(reader, tracks);
    });
}

bool is_large(RunFile& file) {
    constexpr std::uint64_t kLarge = 1'000'000;
    constexpr std::uint64_t kSmallestRow =
        10;  // bytes; ids that leave gaps are foreign
    if (file.live() || file.copied()) {
        return false;  // a second connection may not see the same
    }
    const std::uint64_t count =
        file.with_database([](const Database& db) { return interval_ids(db).size(); });
    return count > kLarge && count < file.size() / kSmallestRow;
}

void read_intervals_in_parallel(RunFile& file, const FileIds& ids, Run& run,
                                IntervalProblems& problems, std::uint64_t chunk_size) {
    const Database& db = file.database();
    const IdRange range = interval_ids(db);
    Tracks tracks(ids, run, range.size());
    fill(tracks, problems, [&] {
        ParallelReader(range, chunk_size, ids, tracks).read(file, problems);
        RowReader reader(db, ids, problems);
        read_small(reader, tracks);
    });
}

}  // namespace metatrain_timing::analyzer
