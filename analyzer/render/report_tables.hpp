#pragma once

#include <optional>
#include <string>

#include "analyzer/analysis/report.hpp"
#include "analyzer/render/table.hpp"

/// The tables of a report for people, one function each; docs/report.md explains them.
/// A table that would be empty is nothing.
namespace metatrain_timing::analyzer {

/// Where a steady step goes: waits, bodies, their stages; ends with one step.
std::optional<Table> step_table(const PhaseReport& phase, bool verbose);

/// Where the wall of a phase goes: steady steps, first batches, warm-up, the rest.
std::optional<Table> phase_time_table(const PhaseReport& phase);

/// What each pass waited for, in s; the causes that take most, and the rest. Nothing
/// where there is one pass only.
std::optional<Table> pass_wait_table(const PhaseReport& phase);

/// The begin of each pass: making the workers, and the wait for the first batch.
/// Nothing where that takes under 5 % of the time, unless `verbose`.
std::optional<Table> epoch_start_table(const PhaseReport& phase, bool verbose);

/// What the workers do for one batch, what else they live for.
std::optional<Table> worker_stage_table(const PhaseReport& phase, bool verbose);

/// What other threads of the training process do for one step: receiving, pinning, ….
std::optional<Table> thread_table(const PhaseReport& phase);

/// What was going on while the training process waited.
/// The greatest standard error of the shares in `wait_cause_table()`; nothing where
/// none is known.
std::optional<double> greatest_share_error(const PhaseReport& phase);
std::optional<Table> wait_cause_table(const PhaseReport& phase, bool verbose);

/// Each worker and the shares of its life.
std::optional<Table> worker_table(const PhaseReport& phase, const Report& report);

/// Phases beside the first `skip` ones, a line each, and passes that were prefetched
/// but never used; with `verbose` also those for which nothing was fetched.
std::optional<Table> other_phase_table(const Report& report, std::size_t skip,
                                       bool verbose);

/// What the training processes spent their lives on.
std::optional<Table> run_time_table(const Report& report);

/// Stages of threads and of other child processes that run no loop and work for none.
std::optional<Table> other_thread_table(const Report& report);

std::optional<Table> process_table(const Report& report, bool verbose);

/// All stages of one phase with totals, for CSV and Markdown: no cell is rounded to a
/// column.
void append_stage_rows(Table& table, const PhaseReport& phase);
Table stage_table();

}  // namespace metatrain_timing::analyzer
