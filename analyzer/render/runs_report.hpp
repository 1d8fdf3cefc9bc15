#pragma once

#include "analyzer/model/run_list.hpp"
#include "analyzer/render/json.hpp"
#include "analyzer/render/table.hpp"

namespace metatrain_timing::analyzer {

/// `mt.runs/1`, see analyzer/schemas/runs.json.
Json runs_json(const RunList& list);

/// One row per run, the newest marked with '*'; times in the local time zone. With
/// `short_uuid` the eight digits of a uuid that --run needs to know it by.
Table runs_table(const RunList& list, bool short_uuid);

}  // namespace metatrain_timing::analyzer
