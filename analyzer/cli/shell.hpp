#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/gate_outcome.hpp"
#include "analyzer/model/run.hpp"
#include "analyzer/render/text.hpp"

namespace metatrain_timing::analyzer {

/// What the subcommands of mt-analyze get to work with.
struct Shell {
    std::ostream& out;  // the result and nothing else
    std::ostream& err;  // messages
    TextStyle style;    // of text results
    int exit_code = 0;  // what mt-analyze ends with, where the command throws no Error

    /// `mt-analyze: warning: ...`, one line each.
    void warn(const std::vector<Warning>& warnings) const;

    /// Ends with the exit code of a gate that did not pass.
    void end_with(const GateOutcome& gate);
};

/// The arguments of every command that reads a run.
struct RunArguments {
    std::string path;
    std::string run;  // --run
};

/// Adds PATH and, with `with_run`, --run to a subcommand.
void add_run_arguments(CLI::App& command, RunArguments& arguments,
                       bool with_run = true);

/// Adds the runs of a command that takes several; `what` says which.
void add_paths_argument(CLI::App& command, std::vector<std::string>& paths,
                        const std::string& what);

enum class Format { text, json, csv, markdown, tsv };

/// Adds --format with these choices.
void add_format_option(CLI::App& command, Format& format,
                       const std::vector<Format>& choices);

}  // namespace metatrain_timing::analyzer
