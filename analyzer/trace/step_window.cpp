#include "analyzer/trace/step_window.hpp"

#include <algorithm>

namespace metatrain_timing::analyzer {

StepWindow::StepWindow(const Run& run, const TraceClock& clock, std::int64_t first,
                       std::int64_t last)
    : run_(run), clock_(clock), first_(first), last_(last) {
}

bool StepWindow::wants(std::size_t process) {
    return run_.processes[process].role == Role::main;
}

void StepWindow::interval(const TrackTarget& at, const Interval& interval,
                          std::int64_t) {
    if (interval.step < 0) {
        return;
    }
    known_ = known_
                 ? std::pair(std::min<std::int64_t>(known_->first, interval.step),
                             std::max<std::int64_t>(known_->second, interval.step))
                 : std::pair<std::int64_t, std::int64_t>(interval.step, interval.step);
    if (interval.step < first_ || interval.step > last_) {
        return;
    }
    const std::int64_t from_ns = clock_.at(at.process, interval.start_ns);
    const std::int64_t to_ns = clock_.at(at.process, interval.end_ns());
    const auto [window, is_new] =
        windows_.try_emplace(run_.processes[at.process].rank, Window{from_ns, to_ns});
    if (!is_new) {
        window->second.from_ns = std::min(window->second.from_ns, from_ns);
        window->second.to_ns = std::max(window->second.to_ns, to_ns);
    }
    if (interval.iterator >= 0 && interval.batch >= 0) {
        batches_.emplace(interval.iterator, interval.batch);
    }
}

void StepWindow::open(const TrackTarget& at, const Interval& interval) {
    this->interval(at, interval, -1);
}

std::optional<std::pair<std::int64_t, std::int64_t>> StepWindow::known_steps() const {
    return known_;
}

bool StepWindow::has(std::size_t process, std::int64_t from_ns, std::int64_t to_ns,
                     std::int32_t iterator, std::int32_t batch) const {
    const auto window = windows_.find(run_.processes[process].rank);
    if (window == windows_.end()) {
        return false;
    }
    const bool is_within =
        from_ns == to_ns
            ? from_ns >= window->second.from_ns && from_ns <= window->second.to_ns
            : from_ns < window->second.to_ns && to_ns > window->second.from_ns;
    return is_within || batches_.contains({iterator, batch});
}

}  // namespace metatrain_timing::analyzer
