#include "analyzer/load/intervals.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "analyzer/load/nesting.hpp"
#include "analyzer/load/row_reader.hpp"
#include "analyzer/load/try_thread.hpp"

namespace metatrain_timing::analyzer {
namespace {

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
