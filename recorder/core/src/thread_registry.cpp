#include "recorder/core/src/thread_registry.hpp"

#include <algorithm>

#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/ring_store.hpp"
#include "recorder/core/src/totals.hpp"
#include "recorder/core/src/utf8.hpp"

namespace metatrain_timing::detail {
namespace {

// The kernel's name, but what everybody calls the first thread.
std::string initial_name() {
    if (platform::is_main_thread()) {
        return "MainThread";
    }
    std::string name = to_utf8(platform::thread_name(), 255);
    return name.empty() ? "thread" : name;
}

// For who finds the area after the process was killed.
void describe(const ThreadState& state) {
    ThreadArea& area = state.area;
    area.track_number.store(0, std::memory_order_release);
    area.tid = state.track.tid;
    const std::size_t size = std::min(state.track.name.size(), area.name.size() - 1);
    std::copy_n(state.track.name.begin(), size, area.name.begin());
    area.name[size] = 0;
    area.track_number.store(state.track.number, std::memory_order_release);
}

// What is open on the thread, the outermost first. It may be closed while it is copied.
std::vector<OpenFrame> open_frames(const OpenStack& open) {
    std::vector<OpenFrame> frames;
    while (const auto frame = open.peek(static_cast<std::uint32_t>(frames.size()))) {
        frames.push_back(*frame);
    }
    return frames;
}

// The position behind the last record before `to` of which every enclosing interval is
// in `frames`; those of the records before it are in `frames` or among the records. One
// that was closed while the frames were copied is not in them, and its record may lie
// behind `to`.
std::uint64_t last_with_known_frames(const Ring& ring, std::uint64_t from,
                                     std::uint64_t to,
                                     const std::vector<OpenFrame>& frames) {
    bool has_intervals = false;
    std::uint64_t end = to;
    while (end != from) {
        const Record& last = ring.at(end - 1);
        const bool is_second_half = last.label.kind == RecordKind::cpu;
        const Record& record = is_second_half ? ring.at(end - 2) : last;
        const bool is_interval = record.label.kind != RecordKind::counter;
        const auto enclosing = std::count_if(
            frames.begin(), frames.end(),
            [&](const OpenFrame& frame) { return frame.start_ns <= record.start_ns; });
        if (is_interval && enclosing >= record.label.depth) {
            return end;
        }
        has_intervals |= is_interval;
        end -= is_second_half ? 2 : 1;
    }
    return has_intervals ? from : to;
}

}  // namespace

thread_local constinit ThreadLocal thread_local_state MT_TLS_MODEL;

void ThreadRegistry::use(RingStore& store) noexcept {
    const std::lock_guard lock(mutex_);
    store_ = &store;
}

ThreadState* ThreadRegistry::enter(ThreadState* old, std::uint64_t life) {
    TrackInfo track;
    track.tid = platform::thread_id();
    track.name = initial_name();
    const std::lock_guard lock(mutex_);
    active_.reserve(active_.size() + 1);
    ThreadState* state = old != nullptr && &old->store == store_ ? old : nullptr;
    if (state == nullptr && !idle_.empty()) {
        state = idle_.back();
        idle_.pop_back();
    }
    if (state == nullptr) {
        ThreadArea* const area = store_->make_thread_area();
        if (area == nullptr) {
            return nullptr;
        }
        state = new ThreadState(*store_, *area);
    }
    // A kill finds the area empty until it is described.
    state->area.track_number.store(0, std::memory_order_release);
    // Records that came too late for an older life go unseen.
    state->ring.release_to(state->ring.head());
    state->counted_to = state->ring.head();
    state->open.clear();
    state->context = {};
    state->area.dropped_count.store(0, std::memory_order_relaxed);
    state->area.unsummed_count.store(0, std::memory_order_relaxed);
    state->area.drops.clear();
    state->written_drops = 0;
    state->counted_drops = {};
    state->life = life;
    state->finished = false;
    track.number = ++track_count_;
    state->track = std::move(track);
    state->name_version = 0;
    describe(*state);
    active_.push_back(state);
    return state;
}

void ThreadRegistry::leave(ThreadState* state) noexcept {
    const std::lock_guard lock(mutex_);
    for (const ThreadState* active : active_) {
        if (active == state) {
            state->finished = true;
            return;
        }
    }
    if (&state->store != store_) {
        return;  // of an older life
    }
    try {
        idle_.push_back(state);
    } catch (...) {
        // out of memory: the state is not used again
    }
}

std::vector<Harvest> ThreadRegistry::harvest(std::uint64_t life, Totals& totals,
                                             Frames frames) {
    const std::lock_guard lock(mutex_);
    std::vector<Harvest> harvests;
    harvests.reserve(active_.size());
    for (ThreadState* state : active_) {
        if (state->life != life) {
            continue;
        }
        const std::uint64_t head = state->ring.head();
        totals.add(state->ring, state->counted_to, head);
        state->counted_to = head;
        Harvest& harvest = harvests.emplace_back();
        harvest.state = state;
        harvest.ring = &state->ring;
        harvest.open = &state->open;
        harvest.from = state->ring.tail();
        harvest.to = head;
        harvest.track = state->track;
        harvest.name_version = state->name_version;
        harvest.finished = state->finished;
        harvest.dropped_count =
            state->area.dropped_count.load(std::memory_order_acquire);
        if (harvest.dropped_count != state->written_drops) {
            harvest.dropped = state->area.drops.read();
            totals.add(*harvest.dropped, state->counted_drops);
            state->counted_drops = *harvest.dropped;
        }
        if (frames == Frames::none) {
            continue;
        }
        harvest.frames = open_frames(state->open);
        if (frames == Frames::complete && !state->finished) {
            harvest.to =
                last_with_known_frames(state->ring, harvest.from, head, harvest.frames);
            harvest.has_all_frames = harvest.to != harvest.from || head == harvest.from;
        }
    }
    return harvests;
}

void ThreadRegistry::release(const std::vector<Harvest>& harvests) noexcept {
    const std::lock_guard lock(mutex_);
    for (const Harvest& harvest : harvests) {
        harvest.state->ring.release_to(harvest.to);
        if (harvest.dropped) {
            harvest.state->written_drops = harvest.dropped_count;
            harvest.state->area.drops.acknowledge(harvest.dropped->generation);
        }
        if (!harvest.finished) {
            continue;
        }
        ThreadArea& area = harvest.state->area;
        area.track_number.store(0, std::memory_order_release);
        gone_drops_.dropped += area.dropped_count.exchange(0);
        gone_drops_.unsummed += area.unsummed_count.exchange(0);
        std::erase(active_, harvest.state);
        try {
            idle_.push_back(harvest.state);
        } catch (...) {
            // out of memory: the state is not used again
        }
    }
}

void ThreadRegistry::rename(ThreadState& state, std::string_view name) {
    std::string valid = to_utf8(name, 255);
    const std::lock_guard lock(mutex_);
    state.track.name = std::move(valid);
    ++state.name_version;
    describe(state);
}

DropCounts ThreadRegistry::drop_counts() const noexcept {
    const std::lock_guard lock(mutex_);
    const std::int64_t stateless = stateless_drops_.load(std::memory_order_relaxed);
    DropCounts counts{gone_drops_.dropped + stateless,
                      gone_drops_.unsummed + stateless};
    for (const ThreadState* state : active_) {
        counts.dropped += state->area.dropped_count.load(std::memory_order_acquire);
        counts.unsummed += state->area.unsummed_count.load(std::memory_order_relaxed);
    }
    return counts;
}

void ThreadRegistry::end_life() noexcept {
    const std::lock_guard lock(mutex_);
    try {
        forget_all();
    } catch (...) {
        // out of memory: nothing is lost but their addresses
    }
    active_.clear();
    idle_.clear();
}

void ThreadRegistry::forget_all() {
    forgotten_.insert(forgotten_.end(), active_.begin(), active_.end());
    forgotten_.insert(forgotten_.end(), idle_.begin(), idle_.end());
    active_.clear();
    idle_.clear();
    track_count_ = 0;
    gone_drops_ = {};
    stateless_drops_.store(0, std::memory_order_relaxed);
}

}  // namespace metatrain_timing::detail
