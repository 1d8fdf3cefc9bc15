#pragma once

#include <string>

#include "analyzer/analysis/whatif.hpp"
#include "analyzer/render/json.hpp"
#include "analyzer/render/table.hpp"
#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {

/// `mt.whatif/1`, see analyzer/schemas/whatif.json.
Json whatif_json(const Run& run, const WhatIf& answer);

/// For programs: times are in s. One line for each prediction, in the order of the
/// answer.
std::string whatif_csv(const WhatIf& answer);

/// For people: the same.
Table whatif_table(const WhatIf& answer);

/// Sentences before and after the table.
std::string whatif_text(const WhatIf& answer, const TextStyle& style);

}  // namespace metatrain_timing::analyzer
