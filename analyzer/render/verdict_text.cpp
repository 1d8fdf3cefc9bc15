#include "analyzer/render/verdict_text.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "analyzer/render/units.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr double kExplained = 0.01;  // share of waiting that is accounted for

class Sentences {
  public:
    explicit Sentences(const Report& report)
        : report_(report), phase_(report.phases.front()), verdict_(report.verdict) {}

    std::string all() const {
        std::string text = wait();
        if (verdict_.bound_by == BoundBy::compute) {
            text += dearest_of_body() + hidden_work();
        } else if (!verdict_.between_is_most || advice().empty()) {
            text += most_waited_for();
        }
        text += advice();
        if (verdict_.workers_unrecorded) {
            text += " What its workers did is not on record.";
        }
        return text + crowd() + line() + queue() + ranks();
    }

  private:
    // "Input-bound: 72 % of the time after warm-up is waiting for data: 77 ms of a
    // 107 ms step."
    std::string wait() const {
        const char* bound = verdict_.bound_by == BoundBy::input   ? "Input-bound"
                            : verdict_.bound_by == BoundBy::mixed ? "Partly input-bound"
                                                                  : "Compute-bound";
        const std::string share = format_share(verdict_.wait_share);
        if (!verdict_.steady_wait_ns || !verdict_.steady_step_ns) {
            return fmt::format("{}: {} of the time is waiting for data.", bound, share);
        }
        return fmt::format(
            "{}: {} of the time after warm-up is waiting for data: {} of a {} step{}.",
            bound, share, format_duration(*verdict_.steady_wait_ns),
            format_duration(*verdict_.steady_step_ns), between_passes());
    }

    bool between_counts() const {
        return verdict_.between_share >= kHoldsUp &&
               verdict_.pass_start_ns > 2 * verdict_.steady_wait_ns.value_or(0) &&
               phase_.steps.micro_steps > phase_.steps.epochs;
    }

    // Without it the share would seem not to be that of the step.
    bool between_explains_the_share() const {
        return verdict_.between_is_most && verdict_.wait_share >= kExplained;
    }

    // The steady step hides it.
    std::string between_passes() const {
        if (!between_counts() && !between_explains_the_share()) {
            return "";
        }
        if (verdict_.between_passes_ns > 0) {
            return fmt::format(", and {} from one epoch to the next",
                               format_duration(verdict_.between_passes_ns));
        }
        return fmt::format(", and {} for the first batch of the epoch, {} of all time",
                           format_duration(verdict_.pass_start_ns),
                           format_share(verdict_.between_share));
    }

    std::string advice() const {
        if (!between_counts() || !verdict_.makes_workers_anew ||
            verdict_.between_passes_ns <= 0) {
            return "";
        }
        return fmt::format(
            " Workers are stopped and started anew for each epoch, {} of all time; "
            "{} keeps them.",
            format_share(verdict_.between_share),
            phase_.makes_loaders_anew
                ? "one DataLoader for all epochs with persistent_workers=True"
                : "persistent_workers=True");
    }

    std::string dearest_of_body() const {
        if (!verdict_.compute || phase_.shown_steps() == 0) {
            return " What the loop's body does is not on record.";
        }
        const Leaf& leaf = *verdict_.compute;
        return fmt::format(
            " The dearest stage is `{}`: {} per step, {} of the loop's body.",
            leaf.stage, format_duration(leaf.per_unit_ns), format_share(leaf.share));
    }

    std::string most_waited_for() const {
        using What = WaitedFor::What;
        if (!verdict_.waited_for || verdict_.workers_unrecorded) {
            return verdict_.workers_unrecorded
                       ? ""
                       : " What the loader does meanwhile is not on record.";
        }
        const WaitedFor& waited = *verdict_.waited_for;
        const std::string share =
            waited.share >= 0.995 ? "All" : format_share(waited.share);
        switch (waited.what) {
            case What::making:
                return making_of_batches(share);
            case What::worker_start:
                return fmt::format(" {} of the waits are for workers to start.", share);
            case What::worker_idle:
                return fmt::format(
                    " {} of the waits are for workers that have no index to work on "
                    "yet.",
                    share);
            case What::sending:
                return fmt::format(
                    " {} of the waits are for batches to be pickled and sent by their "
                    "workers.",
                    share);
            case What::taking_over:
                return fmt::format(
                    " {} of the waits are for batches that lie ready to be received "
                    "and unpickled by the training process.",
                    share);
            default:
                return fmt::format(" {} of the waits are for `{}`.", share,
                                   waited.stage);
        }
    }

    std::string making_of_batches(const std::string& share) const {
        std::string text =
            verdict_.worker_batch_ns
                ? fmt::format(
                      " {} of the waits are for batches in the making: a worker "
                      "spends {} on each",
                      share, format_duration(*verdict_.worker_batch_ns))
                : fmt::format(" The training process makes the batches itself: {} each",
                              format_duration(verdict_.batch_ns));
        if (verdict_.input) {
            text += fmt::format(", most on {} ({})", name_of(verdict_.input->stage),
                                format_duration(verdict_.input->per_unit_ns));
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

    // The share of a suspect that holds the training up.
    std::optional<double> held_up_by(Suspect suspect) const {
        for (const Check& check : verdict_.checks) {
            if (check.suspect == suspect && check.holds_up()) {
                return check.share;
            }
        }
        return std::nullopt;
    }

    // What no setting of the loader mends: there are not enough CPUs.
    std::string queue() const {
        std::string text;
        if (const auto share = held_up_by(Suspect::training_cpu)) {
            text += fmt::format(
                " The training thread could run and had no CPU {} of the time.",
                format_share(*share));
        }
        if (held_up_by(Suspect::worker_cpu)) {
            text += fmt::format(
                " Workers could run and had no CPU {} of their time on batches.",
                format_share(*phase_.cpus.worker_queued_share));
        }
        return text;
    }

    // What the loader's order costs.
    std::string line() const {
        const auto share = held_up_by(Suspect::head_of_line);
        return share ? fmt::format(
                           " {} of the time a batch is waited for while a later "
                           "one lies ready.",
                           format_share(*share))
                     : "";
    }

    std::string ranks() const {
        const RankWaits& waits = phase_.rank_waits;
        if (!waits.straggler) {
            return "";
        }
        return fmt::format(
            " Other ranks wait up to {} per step in `backward` for rank "
            "{}, {}.",
            format_duration(waits.cost_ns), *waits.straggler,
            waits.stage == "loader" ? "which waits longer for its data"
                                    : "whose own stages take longer");
    }

    std::string crowd() const {
        if (!verdict_.crowded_workers) {
            return "";
        }
        std::string text = fmt::format(
            " {} on {:g} {}", format_count(*verdict_.crowded_workers, "worker"),
            verdict_.granted_cpus, verdict_.granted_cpus == 1 ? "CPU" : "CPUs");
        const auto& leaf = verdict_.input;
        if (leaf && leaf->cpu_per_unit_ns && is_crowded_out(*leaf)) {
            text +=
                fmt::format(": {} takes {} for {} of CPU time", name_of(leaf->stage),
                            format_duration(leaf->per_unit_ns),
                            format_duration(*leaf->cpu_per_unit_ns));
        }
        return text + ".";
    }

    // Longer than its CPU time, but no more than the crowd explains: other stages
    // sleep.
    bool is_crowded_out(const Leaf& leaf) const {
        const double crowding =
            static_cast<double>(*verdict_.crowded_workers) / verdict_.granted_cpus;
        return leaf.per_unit_ns > 1.5 * *leaf.cpu_per_unit_ns &&
               leaf.per_unit_ns < 2 * crowding * *leaf.cpu_per_unit_ns;
    }

    std::string name_of(const std::string& stage) const {
        if (stage != "dataset") {
            return "`" + stage + "`";
        }
        if (phase_.loaders.size() == 1) {
            const auto loader = static_cast<std::size_t>(phase_.loaders.front());
            const Loader& of = report_.run->loaders[loader];
            // torch gives this sampler to every loader of an IterableDataset.
            const bool iterates =
                of.sampler_class.ends_with("_InfiniteConstantSampler");
            if (!of.dataset_class.empty()) {
                return fmt::format("`{}` of {}", iterates ? "__iter__" : "__getitem__",
                                   of.dataset_class);
            }
        }
        return "reading samples (`dataset`)";
    }

    const Report& report_;
    const PhaseReport& phase_;
    const Verdict& verdict_;
};

std::string_view name_of(Suspect suspect) {
    switch (suspect) {
        case Suspect::epoch_starts:
            return "starts of epochs";
        case Suspect::head_of_line:
            return "batches that lie ready out of order";
        case Suspect::training_cpu:
            return "the training thread's wait for a CPU";
        case Suspect::worker_cpu:
            return "the workers' wait for a CPU";
        case Suspect::ranks:
            return "one slow rank";
    }
    return "";
}

}  // namespace

std::string verdict_text(const Report& report) {
    if (report.phases.empty()) {
        return "Unknown: there is no loop over a loader on record.";
    }
    if (report.phases.front().name == kBackground) {
        return fmt::format(
            "Unknown: the loop over {} runs in a thread that does not train, so that "
            "its "
            "waits are not the training's. What the training thread waits for is not "
            "on "
            "record; with timed(\"...\") around it, it would be.",
            report.phases.front().loader);
    }
    const StepSeries& steps = report.phases.front().steps;
    if (report.verdict.bound_by == BoundBy::unknown) {
        return fmt::format("Unknown: {} complete steps, {} partial.", steps.steps,
                           steps.partial_steps);
    }
    return Sentences(report).all();
}

std::string checks_text(const Report& report) {
    std::vector<std::string_view> none;
    std::vector<std::string_view> unknown;
    for (const Check& check : report.verdict.checks) {
        if (!check.share) {
            unknown.push_back(name_of(check.suspect));
        } else if (!check.holds_up()) {
            none.push_back(name_of(check.suspect));
        }
    }
    std::string text;
    if (!none.empty()) {
        text = fmt::format("Not the reason, each under {:.0f} %: {}.", 100 * kHoldsUp,
                           fmt::join(none, ", "));
    }
    if (!unknown.empty()) {
        text += fmt::format("{}Not on record: {}.", text.empty() ? "" : " ",
                            fmt::join(unknown, ", "));
    }
    return text;
}

std::string no_steps_message(const Report& report, const std::string& path) {
    return fmt::format(
        "{}: no steps: run {} has no loop over a DataLoader on record; 'mt-analyze "
        "runs' "
        "lists the runs of the file",
        path, report.run->uuid.substr(0, 8));
}

}  // namespace metatrain_timing::analyzer
