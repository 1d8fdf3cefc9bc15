#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/run.hpp"
#include "analyzer/stats/durations.hpp"

namespace metatrain_timing::analyzer {

/// On what kind of thread a stage ran.
enum class Where : std::uint8_t {
    main,    // the thread of a training process that runs the loop
    worker,  // a DataLoader worker
    pin,     // the thread of a training process that copies to page-locked memory
    thread,  // any other thread of a training process
};

std::string_view to_string(Where where);

/// What part of `whole_ns` `part_ns` is; 0 where there is no whole.
double share_of(std::int64_t part_ns, std::int64_t whole_ns);

/// One row of a table of stages.
struct StageRow {
    std::string stage;
    std::string parent;  // stage of the enclosing row, empty at the top
    Where where = Where::main;
    std::size_t level = 0;  // 0 at the top
    std::int64_t calls = 0;
    std::int64_t total_ns = 0;
    std::optional<Summary> call;    // of those on record one by one; the mean is of all
    std::int64_t steady_calls = 0;  // of the calls: those in steady steps
    std::int64_t steady_ns = 0;
    std::optional<Summary> steady_call;
    std::optional<std::int64_t> cpu_ns;  // CPU time of the calls that measured it
    std::int64_t cpu_wall_ns = 0;        // length of these calls
    double share = 0;                    // of the whole that the table divides
};

/// Totals of intervals by their path of stages. A path that has parts below it gets a
/// part `unattributed`, so that the parts of each path add up to it exactly.
class StageTree {
  public:
    using Node = std::size_t;
    static constexpr Node kRoot = 0;

    /// `names` are the stages; the tree may get more (`add_name()`).
    explicit StageTree(std::vector<std::string> names) : names_(std::move(names)) {
        nodes_.emplace_back();
    }

    /// Number of a name that is no recorded stage, e.g. of a row for a nested loop.
    std::size_t add_name(std::string_view name);

    /// The part of `parent` that is `name`; made on first use.
    Node child(Node parent, std::size_t name);

    /// Adds a call of `dur_ns`, of which the parts take `parts_ns`. `cpu_ns` -1: not
    /// measured.
    void add(Node node, std::int64_t dur_ns, std::int64_t parts_ns, bool steady,
             std::int64_t cpu_ns);

    /// Adds calls of which only the sums are known. Their parts are those that are
    /// added to nodes below in the same way.
    void add_sums(Node node, const IntervalTotal& sums);

    /// Makes `node` show an unattributed part even where no part was recorded.
    void always_close(Node node) { nodes_[node].closed = true; }

    /// The rows, parents before their parts, parts in order of first use,
    /// `unattributed` last. `share` is of `whole_ns` and stays 0 where that is 0. To be
    /// called once: it takes the calls apart.
    std::vector<StageRow> rows(Where where, std::int64_t whole_ns);

    bool empty() const { return nodes_.size() == 1; }

  private:
    // Lengths of calls: those in steady steps, and the others.
    struct Calls {
        Durations steady;
        Durations others;

        void add(std::int64_t dur_ns, bool is_steady) {
            (is_steady ? steady : others).add(dur_ns);
        }
    };

    struct Sums {
        std::int64_t calls = 0;
        std::int64_t total_ns = 0;
    };

    struct NodeData {
        std::size_t name = 0;
        std::vector<Node> children;
        Calls calls;
        Calls residuals;  // what is left of each call; empty while no part is known
        Sums summed;      // calls that are not among these
        std::int64_t cpu_ns = -1;
        std::int64_t cpu_wall_ns = 0;
        bool closed = false;
    };

    static StageRow make_row(Calls& calls, const Sums& summed, std::int64_t whole_ns);
    Sums rest_of(const NodeData& data) const;
    void append_rows(Node node, std::size_t level, Where where, std::int64_t whole_ns,
                     std::vector<StageRow>& rows);

    std::vector<std::string> names_;
    std::vector<NodeData> nodes_;
};

/// The outermost row of a stage; nullptr where there is none.
const StageRow* find_top(const std::vector<StageRow>& rows, std::string_view stage);

}  // namespace metatrain_timing::analyzer
