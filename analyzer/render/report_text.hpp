#pragma once

#include <string>

#include "analyzer/analysis/report.hpp"
#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {

struct ReportView {
    std::string
        phase;  // show this phase in full instead of the first; empty: the first
    bool verbose = false;  // every row, every worker, the whole environment
};

/// The report for a terminal: verdict first, then the tables of docs/report.md.
std::string report_text(const Report& report, const TextStyle& style,
                        const ReportView& view);

/// The verdict and the tables of stages as Markdown.
std::string report_markdown(const Report& report, const ReportView& view);

/// The stages of all phases (or of one) as CSV, one row each, times in seconds.
std::string report_csv(const Report& report, const ReportView& view);

}  // namespace metatrain_timing::analyzer
