#include "analyzer/load/totals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "analyzer/load/references.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Longer than any run: two years. Sums of what is shorter do not overflow.
constexpr std::int64_t kMostNs = std::int64_t{1} << 56;

bool is_possible(const IntervalTotal& total) {
    std::int64_t length_ns = 0;
    return total.calls >= 0 && total.total_ns >= 0 && total.total_ns < kMostNs &&
           total.cpu_ns >= -1 && total.cpu_ns < kMostNs && total.cpu_wall_ns >= 0 &&
           total.cpu_wall_ns < kMostNs &&
           !__builtin_sub_overflow(total.last_ns, total.first_ns, &length_ns) &&
           length_ns >= 0;
}

// False: the sums of both would be impossible.
bool merge(IntervalTotal& into, const IntervalTotal& other) {
    IntervalTotal sum = into;
    if (__builtin_add_overflow(sum.calls, other.calls, &sum.calls)) {
        return false;
    }
    sum.total_ns += other.total_ns;
    sum.cpu_wall_ns += other.cpu_wall_ns;
    if (other.cpu_ns >= 0) {
        sum.cpu_ns = std::max<std::int64_t>(sum.cpu_ns, 0) + other.cpu_ns;
    }
    if (other.calls > 0) {
        const bool is_first = into.calls == 0;
        sum.first_ns =
            is_first ? other.first_ns : std::min(sum.first_ns, other.first_ns);
        sum.last_ns = is_first ? other.last_ns : std::max(sum.last_ns, other.last_ns);
    }
    if (!is_possible(sum)) {
        return false;
    }
    into = sum;
    return true;
}

// Where a row of the file is in the model.
struct SumsPlace {
    std::int32_t target = -1;  // index into FileIds::track_targets
    std::int32_t node = -1;    // index into Track::totals
};

class TotalsReader {
  public:
    TotalsReader(const Database& db, const FileIds& ids, Run& run,
                 IntervalProblems& problems)
        : db_(db),
          ids_(ids),
          run_(run),
          problems_(problems),
          references_(ids, problems) {}

    void read_intervals() {
        Statement row = db_.prepare(
            "SELECT id, track_id, parent_id, stage_id, iterator_id, calls, total_ns,"
            " cpu_ns, cpu_wall_ns, first_ns, last_ns"
            " FROM main.interval_total NOT INDEXED ORDER BY id");
        while (row.step()) {
            add(row);
        }
    }

    void read_counters() {
        Statement row = db_.prepare(
            "SELECT track_id, name_id, iterator_id, value"
            " FROM main.counter_total NOT INDEXED ORDER BY id");
        std::map<std::tuple<std::int32_t, std::uint16_t, std::int32_t>, std::size_t>
            known;
        while (row.step()) {
            const std::int32_t target = references_.target_of(row.integer(0));
            CounterTotal total;
            if (target < 0 ||
                !references_.set_counter_name(row.integer(1), total.name) ||
                !references_.set_iterator(row, 2, total.iterator)) {
                continue;
            }
            total.value = row.real(3);
            if (!std::isfinite(total.value)) {
                ++problems_.impossible;
                continue;
            }
            auto& totals = track(target).counter_totals;
            const auto [at, is_new] =
                known.try_emplace({target, total.name, total.iterator}, totals.size());
            if (is_new) {
                totals.push_back(total);
            } else {
                totals[at->second].value += total.value;
            }
        }
    }

  private:
    void add(const Statement& row) {
        SumsPlace place;
        place.target = references_.target_of(row.integer(1));
        IntervalTotal total;
        if (place.target < 0 || !set_parent(row, place.target, total.parent) ||
            !references_.set_stage(row.integer(3), total.stage) ||
            !references_.set_iterator(row, 4, total.iterator)) {
            return;
        }
        total.calls = row.integer(5);
        total.total_ns = row.integer(6);
        total.cpu_ns = row.maybe_integer(7).value_or(-1);
        total.cpu_wall_ns = row.integer(8);
        total.first_ns = row.integer(9);
        total.last_ns = row.integer(10);
        if (!is_possible(total)) {
            ++problems_.impossible;
            return;
        }
        auto& totals = track(place.target).totals;
        const Key key{place.target, total.parent, total.stage, total.iterator};
        const auto [at, is_new] =
            nodes_.try_emplace(key, static_cast<std::int32_t>(totals.size()));
        place.node = at->second;
        if (is_new) {
            totals.push_back(total);
        } else if (!merge(totals[static_cast<std::size_t>(place.node)], total)) {
            ++problems_.impossible;
        }
        places_[row.integer(0)] = place;
    }

    // A parent has a smaller id than its parts: no cycle can be.
    bool set_parent(const Statement& row, std::int32_t target, std::int32_t& parent) {
        const std::optional<std::int64_t> id = row.maybe_integer(2);
        if (!id) {
            return true;
        }
        const auto at = places_.find(*id);
        if (at == places_.end() || at->second.target != target) {
            ++problems_.dangling;
            return false;
        }
        parent = at->second.node;
        return true;
    }

    Track& track(std::int32_t target) {
        const TrackTarget& at = ids_.track_targets[static_cast<std::size_t>(target)];
        return run_.processes[at.process].tracks[at.track];
    }

    using Key = std::tuple<std::int32_t, std::int32_t, std::uint16_t, std::int32_t>;

    const Database& db_;
    const FileIds& ids_;
    Run& run_;
    IntervalProblems& problems_;
    References references_;
    std::unordered_map<std::int64_t, SumsPlace> places_;  // by row id
    std::map<Key, std::int32_t> nodes_;  // target, parent, stage, iterator
};

}  // namespace

void read_totals(RunFile& file, const FileIds& ids, Run& run,
                 IntervalProblems& problems) {
    TotalsReader reader(file.database(), ids, run, problems);
    reader.read_intervals();
    reader.read_counters();
}

}  // namespace metatrain_timing::analyzer
