#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "recorder/core/src/sums.hpp"

namespace metatrain_timing::detail {

/// The tree of sums of a file, see the table `interval_total`. Row ids are those of the
/// file. What is added in a transaction is written by `write()` before its end.
class IntervalTotals {
  public:
    using Node = std::size_t;
    static constexpr Node kTop = 0;

    explicit IntervalTotals(const SQLite::Database& database);

    /// What `stage_id` is inside of `parent`, on one track; made at the first use.
    Node child(Node parent, std::int64_t track_id, std::int64_t stage_id,
               std::int64_t iterator_id);
    /// `cpu_ns` -1: not measured.
    void add(Node node, std::int64_t start_ns, std::int64_t dur_ns,
             std::int64_t cpu_ns);

    void write();
    void commit() noexcept;
    void roll_back() noexcept;
    /// Changes when nodes that were handed out before are not valid any more.
    std::uint64_t generation() const noexcept { return generation_; }

  private:
    struct Key {
        Node parent = kTop;
        std::int64_t track_id = 0;
        std::int64_t stage_id = 0;
        std::int64_t iterator_id = 0;
        auto operator<=>(const Key&) const = default;
    };
    struct Row {
        Key key;
        std::int64_t row_id = 0;  // 0: not in the file
        IntervalSums fresh;       // of this transaction
        bool is_touched = false;
    };

    void clear() noexcept;

    std::map<Key, Node> nodes_;
    std::vector<Row> rows_;  // by node; the first is the top
    std::vector<Node> touched_;
    std::uint64_t generation_ = 0;
    SQLite::Statement insert_;
    SQLite::Statement update_;
};

}  // namespace metatrain_timing::detail
