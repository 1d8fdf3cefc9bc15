#include <metatrain_timing/recorder/benchmark.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace metatrain_timing {
namespace {

constexpr std::size_t kBlocks = 10;
constexpr double kStudent95 =
    2.262;  // two-sided 95 % of Student's t, 9 degrees of freedom
constexpr double kNsPerS = 1e9;

std::vector<std::int64_t> sorted(std::vector<std::int64_t> list,
                                 const std::string& name, bool needs_zero) {
    if (list.empty()) {
        throw std::invalid_argument(name + " is empty: give at least 0");
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (list.front() < 0) {
        throw std::invalid_argument(name + " has " + std::to_string(list.front()) +
                                    ": numbers begin with 0");
    }
    if (needs_zero && list.front() != 0) {
        throw std::invalid_argument(name + " does not hold 0: what comes before " +
                                    std::to_string(list.front()) + " would be unknown");
    }
    return list;
}

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return sum / static_cast<double>(values.size());
}

// Of values that need not be independent of their neighbours, but are of others.
std::optional<double> standard_error(const std::vector<double>& values) {
    if (values.size() < 2) {
        return std::nullopt;
    }
    const double mean = mean_of(values);
    double squares = 0;
    for (const double value : values) {
        squares += (value - mean) * (value - mean);
    }
    const auto count = static_cast<double>(values.size());
    return std::sqrt(squares / (count - 1) / count);
}

std::optional<double> error_by_blocks(const std::vector<std::int64_t>& times_ns) {
    const std::size_t length = times_ns.size() / kBlocks;
    if (length < 2) {
        return std::nullopt;
    }
    std::vector<double> means(kBlocks, 0);
    for (std::size_t i = 0; i < length * kBlocks; ++i) {
        means[i / length] +=
            static_cast<double>(times_ns[i]) / static_cast<double>(length);
    }
    return standard_error(means);
}

// What something takes once each epoch, and what its sum over all epochs is off by.
struct PerEpoch {
    double sum_ns = 0;
    double error_ns = 0;

    PerEpoch(const std::vector<double>& times_ns, std::int64_t epochs) {
        if (!times_ns.empty()) {
            sum_ns = mean_of(times_ns) * static_cast<double>(epochs);
            error_ns =
                standard_error(times_ns).value_or(0) * static_cast<double>(epochs);
        }
    }
};

}  // namespace

BenchmarkPlan BenchmarkPlan::checked() const {
    BenchmarkPlan plan = *this;
    plan.step_list = sorted(step_list, "step_list", true);
    if (!all_epochs) {
        plan.epoch_list = sorted(epoch_list, "epoch_list", true);
    }
    if (min_steps < 1) {
        throw std::invalid_argument("min_steps is " + std::to_string(min_steps) +
                                    ": a window has at least 1");
    }
    if (warmup_steps < 0) {
        throw std::invalid_argument("warmup_steps is " + std::to_string(warmup_steps) +
                                    ": give 0 or more");
    }
    return plan;
}

double BenchmarkWindow::samples_per_s() const {
    return total_ns > 0 ? samples * kNsPerS / static_cast<double>(total_ns) : 0;
}

Benchmark::Benchmark(const BenchmarkPlan& plan, std::int64_t epochs)
    : plan_(plan.checked()), epochs_(epochs) {
    if (epochs < 1) {
        throw std::invalid_argument("a training has at least 1 epoch, not " +
                                    std::to_string(epochs));
    }
}

bool Benchmark::is_visited(std::int64_t epoch) const {
    return plan_.all_epochs ||
           std::binary_search(plan_.epoch_list.begin(), plan_.epoch_list.end(), epoch);
}

std::optional<std::int64_t> Benchmark::begin_epoch(std::int64_t now_ns) {
    if (epoch_) {
        finish_window();
        epoch_times_.back().end_ns = now_ns - last_ns_;
    }
    std::int64_t next = epoch_ ? *epoch_ + 1 : 0;
    while (next < epochs_ && !is_visited(next)) {
        ++next;
    }
    if (next >= epochs_) {
        epoch_.reset();
        return std::nullopt;
    }
    epoch_ = next;
    epoch_times_.push_back({next, std::nullopt, std::nullopt});
    window_ = 0;
    last_ns_ = now_ns;
    return epoch_;
}

void Benchmark::begin_pass(std::int64_t now_ns, std::optional<std::int64_t> steps) {
    if (steps) {
        steps_per_epoch_ = steps;
    }
    pass_began_ns_ = now_ns;
    awaits_first_batch_ = true;
    warmup_left_ = plan_.warmup_steps;
}

std::int64_t Benchmark::steps_of_window() const {
    return steps_per_epoch_
               ? std::min(plan_.min_steps, *steps_per_epoch_ - plan_.step_list[window_])
               : plan_.min_steps;
}

std::optional<std::int64_t> Benchmark::begin_step() const {
    if (!epoch_ || window_ >= plan_.step_list.size() || steps_of_window() <= 0) {
        return std::nullopt;
    }
    return plan_.step_list[window_] + static_cast<std::int64_t>(step_times_ns_.size());
}

void Benchmark::batch_delivered(std::int64_t now_ns) {
    if (!awaits_first_batch_) {
        return;
    }
    awaits_first_batch_ = false;
    if (!epoch_times_.empty() && !epoch_times_.back().start_ns) {
        epoch_times_.back().start_ns = now_ns - pass_began_ns_;
    }
    last_ns_ = now_ns;  // its wait is of the start, not of a step
}

bool Benchmark::end_step(std::int64_t now_ns, double samples) {
    const std::int64_t took_ns = now_ns - last_ns_;
    last_ns_ = now_ns;
    if (warmup_left_ > 0) {
        --warmup_left_;
        return false;
    }
    step_times_ns_.push_back(took_ns);
    samples_ += samples;
    if (static_cast<std::int64_t>(step_times_ns_.size()) < steps_of_window()) {
        return false;
    }
    finish_window();
    return true;
}

void Benchmark::end_pass(std::int64_t now_ns) {
    last_ns_ = now_ns;
}

void Benchmark::finish_window() {
    if (!step_times_ns_.empty()) {
        BenchmarkWindow window;
        window.epoch = *epoch_;
        window.first_step = plan_.step_list[window_];
        window.steps = static_cast<std::int64_t>(step_times_ns_.size());
        for (const std::int64_t time_ns : step_times_ns_) {
            window.total_ns += time_ns;
        }
        window.samples = samples_;
        window.step_error_ns = error_by_blocks(step_times_ns_);
        windows_.push_back(window);
    }
    step_times_ns_.clear();
    samples_ = 0;
    ++window_;
}

void Benchmark::set_samples(double samples) {
    if (!windows_.empty()) {
        windows_.back().samples = samples;
    }
}

std::optional<BenchmarkPrediction> Benchmark::prediction() const {
    if (windows_.empty() || !steps_per_epoch_) {
        return std::nullopt;
    }
    BenchmarkPrediction prediction;
    double variance = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        const BenchmarkWindow& window = windows_[i];
        // Until the next window of its epoch, and in all epochs until the next visited
        // one.
        const bool is_last_of_epoch =
            i + 1 == windows_.size() || windows_[i + 1].epoch != window.epoch;
        const std::int64_t until_step =
            is_last_of_epoch ? *steps_per_epoch_ : windows_[i + 1].first_step;
        std::int64_t until_epoch = epochs_;
        for (std::size_t next = i + 1; next < windows_.size(); ++next) {
            if (windows_[next].epoch != window.epoch) {
                until_epoch = windows_[next].epoch;
                break;
            }
        }
        const auto stands_for = static_cast<double>(std::max<std::int64_t>(
                                    until_step - window.first_step, 0)) *
                                static_cast<double>(until_epoch - window.epoch);
        prediction.steps_ns += stands_for * window.step_ns();
        const double error_ns = stands_for * window.step_error_ns.value_or(0);
        variance += error_ns * error_ns;
    }
    std::vector<double> starts_ns;
    std::vector<double> ends_ns;
    for (const EpochTimes& times : epoch_times_) {
        if (times.start_ns) {
            starts_ns.push_back(static_cast<double>(*times.start_ns));
        }
        if (times.end_ns) {
            ends_ns.push_back(static_cast<double>(*times.end_ns));
        }
    }
    const PerEpoch starts(starts_ns, epochs_);
    const PerEpoch ends(ends_ns, epochs_);
    prediction.epoch_starts_ns = starts.sum_ns;
    prediction.epoch_ends_ns = ends.sum_ns;
    prediction.total_ns =
        prediction.steps_ns + prediction.epoch_starts_ns + prediction.epoch_ends_ns;
    variance += starts.error_ns * starts.error_ns + ends.error_ns * ends.error_ns;
    const double half_ns = kStudent95 * std::sqrt(variance);
    prediction.low_ns = std::max(0.0, prediction.total_ns - half_ns);
    prediction.high_ns = prediction.total_ns + half_ns;
    return prediction;
}

}  // namespace metatrain_timing
