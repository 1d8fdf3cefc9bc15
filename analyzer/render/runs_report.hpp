#pragma once

#include "analyzer/model/run_list.hpp"
#include "analyzer/render/json.hpp"
#include "analyzer/render/table.hpp"

namespace metatrain_timing::analyzer {

/// `mt.runs/1`, see analyzer/schemas/runs.json.
Json runs_json(const RunList& list);

/// One row per run, oldest first; times in the local time zone. For people the newest
/// is marked with '*' and a uuid is cut to the eight digits that --run knows it by.
Table runs_table(const RunList& list, bool for_people);

}  // namespace metatrain_timing::analyzer
