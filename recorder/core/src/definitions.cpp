#include "recorder/core/src/definitions.hpp"

#include <fmt/format.h>

#include "recorder/core/src/definition_code.hpp"
#include "recorder/core/src/ring_store.hpp"
#include "recorder/core/src/utf8.hpp"

namespace metatrain_timing::detail {
namespace {

constexpr std::size_t kMaxTextBytes = 4096;

std::string text(std::string_view raw) {
    return to_utf8(raw, kMaxTextBytes);
}

LoaderInfo with_valid_texts(const LoaderInfo& info) {
    LoaderInfo valid = info;
    valid.name = text(info.name);
    valid.created_at = text(info.created_at);
    valid.dataset_class = text(info.dataset_class);
    valid.start_method = text(info.start_method);
    valid.sampler_class = text(info.sampler_class);
    return valid;
}

}  // namespace

template <typename Definition>
void Definitions::keep(const Definition& definition) {
    if (store_ != nullptr) {
        store_->keep_pending(encode(definition));
    }
}

std::int64_t Definitions::define_loader(const LoaderInfo& info, std::int64_t number) {
    LoaderInfo valid = with_valid_texts(info);
    const std::lock_guard lock(mutex_);
    number = loaders_.next(number);
    loaders_.states.insert_or_assign(number, LoaderState{number, std::move(valid)});
    loaders_.unwritten.insert(number);
    keep(loaders_.states.at(number));
    return number;
}

std::int64_t Definitions::define_iterator(std::int64_t loader, std::int64_t pass,
                                          std::int64_t number, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    number = iterators_.next(number);
    IteratorState state;
    state.number = number;
    state.loader = loader;
    state.epoch = pass;
    state.started_ns = now_ns;
    iterators_.states.insert_or_assign(number, std::move(state));
    iterators_.unwritten.insert(number);
    keep(iterators_.states.at(number));
    // The row needs one of the loader, even if nobody announced it.
    if (loaders_.states.try_emplace(loader, LoaderState{loader, {}}).second) {
        loaders_.states[loader].info.name = fmt::format("loader {}", loader);
        loaders_.unwritten.insert(loader);
        keep(loaders_.states[loader]);
    }
    return number;
}

IteratorState* Definitions::change(std::int64_t iterator) {
    const auto found = iterators_.states.find(iterator);
    if (found == iterators_.states.end()) {
        return nullptr;
    }
    iterators_.unwritten.insert(iterator);
    return &found->second;
}

void Definitions::first_wait(std::int64_t iterator, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    IteratorState* const state = change(iterator);
    if (state == nullptr || state->first_wait_ns) {
        return;
    }
    state->first_wait_ns = now_ns;
    if (state->phase.empty()) {
        state->phase = "evaluation";
    }
    keep(*state);
}

void Definitions::phase(std::int64_t iterator, std::string_view phase) {
    const std::lock_guard lock(mutex_);
    if (IteratorState* const state = change(iterator)) {
        state->phase = text(phase);
        keep(*state);
    }
}

void Definitions::ended(std::int64_t iterator, bool exhausted, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    IteratorState* const state = change(iterator);
    if (state == nullptr || state->ended_ns) {
        return;
    }
    state->ended_ns = now_ns;
    state->exhausted = exhausted;
    keep(*state);
}

void Definitions::set_fact(std::string_view key, std::string_view value) {
    std::string valid_key = text(key);
    const std::lock_guard lock(mutex_);
    unwritten_facts_.insert(valid_key);
    keep(*facts_.insert_or_assign(std::move(valid_key), text(value)).first);
}

void Definitions::add_problem(Problem problem) {
    problem.code = text(problem.code);
    problem.text = text(problem.text);
    const std::lock_guard lock(mutex_);
    last_problem_ = problem.text;
    if (problems_.size() < kMaxProblems) {
        problems_.push_back(std::move(problem));
        keep(problems_.back());
    }
}

std::string Definitions::last_problem() const {
    const std::lock_guard lock(mutex_);
    return last_problem_;
}

bool Definitions::pending() const {
    const std::lock_guard lock(mutex_);
    return !loaders_.unwritten.empty() || !iterators_.unwritten.empty() ||
           !unwritten_facts_.empty() || !problems_.empty();
}

PendingDefinitions Definitions::take() {
    const std::lock_guard lock(mutex_);
    PendingDefinitions taken;
    for (const std::int64_t number : loaders_.unwritten) {
        taken.loaders.push_back(loaders_.states.at(number));
    }
    for (const std::int64_t number : iterators_.unwritten) {
        taken.iterators.push_back(iterators_.states.at(number));
    }
    for (const std::string& key : unwritten_facts_) {
        taken.facts.emplace_back(key, facts_.at(key));
    }
    taken.problems.swap(problems_);
    loaders_.unwritten.clear();
    iterators_.unwritten.clear();
    unwritten_facts_.clear();
    taken.mark = store_ == nullptr ? 0 : store_->pending_mark();
    return taken;
}

void Definitions::give_back(const PendingDefinitions& taken) {
    const std::lock_guard lock(mutex_);
    for (const LoaderState& loader : taken.loaders) {
        loaders_.unwritten.insert(loader.number);
    }
    for (const IteratorState& iterator : taken.iterators) {
        iterators_.unwritten.insert(iterator.number);
    }
    for (const auto& [key, value] : taken.facts) {
        unwritten_facts_.insert(key);
    }
    problems_.insert(problems_.begin(), taken.problems.begin(), taken.problems.end());
}

void Definitions::written(const PendingDefinitions& taken) {
    const std::lock_guard lock(mutex_);
    if (store_ != nullptr) {
        store_->forget_pending(taken.mark);
    }
}

void Definitions::keep_in(RingStore* store) {
    const std::lock_guard lock(mutex_);
    store_ = store;
    for (const std::int64_t number : loaders_.unwritten) {
        keep(loaders_.states.at(number));
    }
    for (const std::int64_t number : iterators_.unwritten) {
        keep(iterators_.states.at(number));
    }
    for (const std::string& key : unwritten_facts_) {
        keep(*facts_.find(key));
    }
    for (const Problem& problem : problems_) {
        keep(problem);
    }
}

void Definitions::mark_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, state] : loaders_.states) {
        loaders_.unwritten.insert(number);
    }
    for (const auto& [number, state] : iterators_.states) {
        iterators_.unwritten.insert(number);
    }
    for (const auto& [key, value] : facts_) {
        unwritten_facts_.insert(key);
    }
}

void Definitions::forget_all() {
    loaders_ = {};
    iterators_ = {};
    facts_.clear();
    unwritten_facts_.clear();
    problems_.clear();
    last_problem_.clear();
    store_ = nullptr;
}

}  // namespace metatrain_timing::detail
