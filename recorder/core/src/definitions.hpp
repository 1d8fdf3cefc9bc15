#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <metatrain_timing/recorder/recorder.hpp>

namespace metatrain_timing::detail {

class RingStore;

struct LoaderState {
    std::int64_t number = 0;
    LoaderInfo info;
};

struct IteratorState {
    std::int64_t number = 0;
    std::int64_t loader = 0;  // its number
    std::int64_t epoch = 0;
    std::string phase;  // empty: not known
    std::int64_t started_ns = 0;
    std::optional<std::int64_t> first_wait_ns;
    std::optional<std::int64_t> ended_ns;
    bool exhausted = false;
};

struct Problem {
    std::int64_t at_ns = 0;
    std::string code;
    std::string text;
};

/// What changed since the drain last looked.
struct PendingDefinitions {
    std::vector<LoaderState> loaders;
    std::vector<IteratorState> iterators;
    std::vector<std::pair<std::string, std::string>> facts;
    std::vector<Problem> problems;
    std::uint64_t mark = 0;  // of the store, for `written()`

    bool empty() const {
        return loaders.empty() && iterators.empty() && facts.empty() &&
               problems.empty();
    }
};

/// Everything that is said once and not measured: loaders, passes over them, facts,
/// problems. Kept here until the drain writes it, and all of it but the problems
/// afterwards, since a recording that is started anew needs it again.
///
/// Callable from any thread; locks for a short time and does no I/O.
class Definitions {
  public:
    static constexpr std::size_t kMaxProblems =
        100;  // not yet written; more are left out

    std::int64_t define_loader(const LoaderInfo& info, std::int64_t number);
    std::int64_t define_iterator(std::int64_t loader, std::int64_t epoch,
                                 std::int64_t number, std::int64_t now_ns);
    void first_wait(std::int64_t iterator, std::int64_t now_ns);
    void phase(std::int64_t iterator, std::string_view phase);
    void ended(std::int64_t iterator, bool exhausted, std::int64_t now_ns);
    void set_fact(std::string_view key, std::string_view value);
    void add_problem(Problem problem);
    /// Text of the last problem, empty: none.
    std::string last_problem() const;

    bool pending() const;
    /// Copies of everything that is not written yet; it counts as written from now on.
    PendingDefinitions take();
    /// Undoes a `take()` whose result could not be written.
    void give_back(const PendingDefinitions& taken);
    /// What was taken is in the database.
    void written(const PendingDefinitions& taken);
    /// Everything but problems is to be written again.
    void mark_all();

    /// Keeps what is not written yet in a store, too; nullptr: in none any more.
    void keep_in(RingStore* store);
    /// In a forked child: nothing of this is the child's.
    void forget_all();

    std::mutex& mutex() noexcept { return mutex_; }

  private:
    template <typename State>
    struct Table {
        std::map<std::int64_t, State> states;  // by number
        std::set<std::int64_t> unwritten;      // numbers
        std::int64_t last_number = 0;

        std::int64_t next(std::int64_t wanted) {
            const std::int64_t number = wanted > 0 ? wanted : last_number + 1;
            last_number = std::max(last_number, number);
            return number;
        }
    };

    /// The pass, marked as changed, or nullptr if nobody announced it.
    IteratorState* change(std::int64_t iterator);

    template <typename Definition>
    void keep(const Definition& definition);

    mutable std::mutex mutex_;
    RingStore* store_ = nullptr;
    Table<LoaderState> loaders_;
    Table<IteratorState> iterators_;
    std::map<std::string, std::string, std::less<>> facts_;
    std::set<std::string> unwritten_facts_;
    std::vector<Problem> problems_;
    std::string last_problem_;
};

}  // namespace metatrain_timing::detail
