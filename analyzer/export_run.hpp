#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Steps from the first to the last, both included.
struct StepSpan {
    std::int64_t first = 0;
    std::int64_t last = 0;

    /// "100:200", or "100" for one.
    /// @throws Error (usage) with one line.
    static StepSpan parse(const std::string& text);
};

/// Of what run a timeline is wanted, and of what part of it.
struct ExportQuestion {
    std::string path;
    std::string run;
    std::string output;                // "-": standard output
    std::optional<StepSpan> steps;     // these, and the batches that they use
    std::optional<std::int64_t> rank;  // this one and its workers
    bool gzip = false;                 // also where `output` ends with ".gz"
};

struct ExportAnswer {
    std::uint64_t slice_count = 0;
    std::uint64_t bytes = 0;  // before compression
    std::vector<Warning> warnings;
};

/// "2" as 2; nothing for an empty text.
/// @throws Error (usage) with one line.
std::optional<std::int64_t> parse_rank(const std::string& text);

/// What is to be told while it goes on; may be empty.
struct ExportProgress {
    std::function<void(const Warning&)> warn;  // before it begins
    std::function<void(std::size_t, std::size_t)> on_file;
};

/// Writes the timeline of all processes of a run. Memory does not grow with the number
/// of intervals; about 1 µs each.
/// @throws Error where there is nothing to write, or no room.
ExportAnswer export_run(const ExportQuestion& question, const ExportProgress& progress);

}  // namespace metatrain_timing::analyzer
