#pragma once

#include <SQLiteCpp/Database.h>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

#include <filesystem>
#include <utility>

namespace metatrain_timing::test {

/// Records `count` intervals of a nanosecond.
inline void fill_ring(int count) {
    const StageId fill = stage("fill");
    for (int index = 0; index < count; ++index) {
        add(fill, 0, 1, {});
    }
}

/// While it lives nothing leaves the calling thread's ring, in which there is nothing
/// yet: another writer has the file's lock. `count` records are put into it.
class FullRing {
  public:
    explicit FullRing(const std::filesystem::path& database, int count = 8192)
        : other_(database.string(), SQLite::OPEN_READWRITE, 10'000) {
        other_.exec("BEGIN IMMEDIATE");
        fill_ring(count);
    }
    ~FullRing() { release(); }
    FullRing(const FullRing&) = delete;
    FullRing& operator=(const FullRing&) = delete;

    void release() {
        if (std::exchange(holds_, false)) {
            other_.exec("COMMIT");
        }
    }

  private:
    SQLite::Database other_;
    bool holds_ = true;
};

/// Of all sums: the path of stages, the pass, and the columns, by path.
inline constexpr const char* kSumsByPath = R"(
    WITH RECURSIVE node AS (
        SELECT interval_total.id, stage.name AS path
        FROM interval_total JOIN stage ON stage.id = stage_id
        WHERE parent_id IS NULL
        UNION ALL
        SELECT part.id, node.path || '/' || stage.name
        FROM node
        JOIN interval_total AS part ON part.parent_id = node.id
        JOIN stage ON stage.id = part.stage_id
    )
    SELECT path, iterator_id, calls, total_ns, cpu_ns, cpu_wall_ns, first_ns, last_ns
    FROM node JOIN interval_total USING (id)
    ORDER BY path, iterator_id IS NULL, iterator_id)";

}  // namespace metatrain_timing::test
