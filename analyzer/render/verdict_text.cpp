#include "analyzer/render/verdict_text.hpp"

#include <fmt/core.h>

#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kFirstWaitCounts = 0.05;  // share of first waits worth a sentence

class Sentences {
  public:
    explicit Sentences(const Report& report)
        : report_(report), phase_(report.phases.front()), verdict_(report.verdict) {}

    std::string all() const {
        std::string text = wait();
        text += first_waits();
        if (verdict_.bound_by == BoundBy::compute) {
            text += dearest_of_body() + hidden_work();
        } else {
            text += most_waited_for();
        }
        return text + crowd();
    }

  private:
    // "Input-bound: 72 % of the time is waiting for data, 77 ms of a 107 ms step."
    std::string wait() const {
        const char* bound = verdict_.bound_by == BoundBy::input   ? "Input-bound"
                            : verdict_.bound_by == BoundBy::mixed ? "Partly input-bound"
                                                                  : "Compute-bound";
        std::string text = fmt::format("{}: {} of the time is waiting for data", bound,
                                       format_share(verdict_.wait_share));
        if (verdict_.steady_wait_ns && verdict_.steady_step_ns) {
            text += fmt::format(", {} of a {} step",
                                format_duration(*verdict_.steady_wait_ns),
                                format_duration(*verdict_.steady_step_ns));
        }
        return text + ".";
    }

    // The steady step hides them.
    std::string first_waits() const {
        if (verdict_.first_wait_share < kFirstWaitCounts ||
            verdict_.first_wait_ns < 2 * verdict_.steady_wait_ns.value_or(0) ||
            phase_.steps.micro_steps <= phase_.steps.epochs) {
            return "";
        }
        return fmt::format(
            " The first batch of an epoch is waited for {}: {} of the time.",
            format_duration(verdict_.first_wait_ns),
            format_share(verdict_.first_wait_share));
    }

    std::string dearest_of_body() const {
        if (!verdict_.compute || phase_.steps.steady_steps == 0) {
            return "";
        }
        const Leaf& leaf = *verdict_.compute;
        if (leaf.stage == "step") {
            return " What the loop's body does is not on record.";
        }
        return fmt::format(
            " The dearest stage is `{}`: {} per step, {} of the loop's body.",
            leaf.stage, format_duration(leaf.per_unit_ns), format_share(leaf.share));
    }

    std::string most_waited_for() const {
        if (!verdict_.waited_for) {
            return " What the loader does meanwhile is not on record.";
        }
        const WaitedFor& waited = *verdict_.waited_for;
        const std::string share =
            waited.share >= 0.995 ? "All" : format_share(waited.share);
        if (waited.cause == "worker_start") {
            return fmt::format(" {} of the waits are for workers to start.", share);
        }
        if (waited.cause == "worker_idle") {
            return fmt::format(
                " In {} of the waits the worker had nothing to do: its batch was asked "
                "for "
                "too late.",
                share);
        }
        std::string text =
            fmt::format(" {} of the waits are for {}", share, name_of(waited.stage));
        if (waited.cost) {
            text += fmt::format(", which takes {} per batch in {}",
                                format_duration(waited.cost->per_unit_ns),
                                waited.cost->where == Where::worker
                                    ? "the workers"
                                    : "the training process itself");
        }
        return text + ".";
    }

    // Work in workers is never free: it is said even where no wait shows it.
    std::string hidden_work() const {
        if (!verdict_.worker_batch_ns || !verdict_.input) {
            return "";
        }
        return fmt::format(
            " Beside it the workers spend {} on each batch, most on {} ({}).",
            format_duration(*verdict_.worker_batch_ns), name_of(verdict_.input->stage),
            format_duration(verdict_.input->per_unit_ns));
    }

    std::string crowd() const {
        if (!verdict_.crowded_workers) {
            return "";
        }
        std::string text = fmt::format(
            " {} on {:g} {}", format_count(*verdict_.crowded_workers, "worker"),
            verdict_.granted_cpus, verdict_.granted_cpus == 1 ? "CPU" : "CPUs");
        const auto& leaf = verdict_.input;
        if (leaf && leaf->cpu_per_unit_ns &&
            leaf->per_unit_ns > 1.5 * *leaf->cpu_per_unit_ns) {
            text +=
                fmt::format(": {} takes {} for {} of CPU time", name_of(leaf->stage),
                            format_duration(leaf->per_unit_ns),
                            format_duration(*leaf->cpu_per_unit_ns));
        }
        return text + ".";
    }

    std::string name_of(const std::string& stage) const {
        if (stage != "dataset") {
            return "`" + stage + "`";
        }
        if (phase_.loaders.size() == 1) {
            const auto loader = static_cast<std::size_t>(phase_.loaders.front());
            const std::string& dataset = report_.run->loaders[loader].dataset_class;
            if (!dataset.empty()) {
                return "`__getitem__` of " + dataset;
            }
        }
        return "reading samples (`dataset`)";
    }

    const Report& report_;
    const PhaseReport& phase_;
    const Verdict& verdict_;
};

}  // namespace

std::string verdict_text(const Report& report) {
    if (report.phases.empty()) {
        return "Unknown: there is no loop over a loader on record.";
    }
    const StepSeries& steps = report.phases.front().steps;
    if (report.verdict.bound_by == BoundBy::unknown) {
        return fmt::format("Unknown: {} complete steps, {} partial.", steps.steps,
                           steps.partial_steps);
    }
    return Sentences(report).all();
}

std::string no_steps_message(const Report& report, const std::string& path) {
    return fmt::format(
        "{}: no steps: run {} has no loop over a DataLoader on record; 'mt-analyze "
        "runs' "
        "lists the runs of the file",
        path, report.run->uuid.substr(0, 8));
}

}  // namespace metatrain_timing::analyzer
