#include <metatrain_timing/recorder/interval.hpp>

#include <bit>
#include <cmath>

#include <metatrain_timing/recorder/epoch.hpp>
#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/recorder.hpp"
#include "recorder/core/src/thread_state.hpp"

namespace metatrain_timing {
namespace {

using detail::OpenFrame;
using detail::OpenStack;
using detail::Record;
using detail::Recorder;
using detail::RecordKind;
using detail::ThreadState;

constexpr std::int64_t kTurnPeriodNs = 100'000'000;

// The calling thread's state if nothing has changed since its last record; nullptr also
// where recording is off.
inline ThreadState* settled_state() noexcept {
    ThreadState* const state = detail::thread_local_state.state;
    // No state has the epoch 0.
    return state != nullptr &&
                   state->epoch == detail::epoch.load(std::memory_order_relaxed)
               ? state
               : nullptr;
}

// The calling thread's state, ready to record; nullptr where recording is off.
inline ThreadState* ready_state() noexcept {
    if (ThreadState* const state = settled_state()) [[likely]] {
        return state;
    }
    return detail::epoch.load(std::memory_order_relaxed) == 0
               ? nullptr
               : Recorder::instance().attach();
}

// The same, but only where this life knows the thread: what was begun in an older life,
// or before a fork, has nowhere to end.
inline ThreadState* known_state() noexcept {
    const std::uint64_t now = detail::epoch.load(std::memory_order_relaxed);
    ThreadState* const state = detail::thread_local_state.state;
    if (now == 0 || state == nullptr) {
        return nullptr;
    }
    if (state->epoch == now) [[likely]] {
        return state;
    }
    return detail::life_of(state->epoch) == detail::life_of(now)
               ? Recorder::instance().attach()
               : nullptr;
}

void call_drain_if_filling(const ThreadState& state) noexcept {
    if (state.ring.half_full()) [[unlikely]] {
        Recorder::instance().wake_drain();
    }
}

void append(ThreadState& state, const Record& record) noexcept {
    if (!state.ring.has_room(1)) [[unlikely]] {
        state.drop(record, -1);
        return;
    }
    state.ring.cell() = record;
    state.ring.publish();
    call_drain_if_filling(state);
}

// The two are published at once, so that the drain never sees the first alone.
void append_with_cpu(ThreadState& state, const Record& record,
                     std::int64_t cpu_ns) noexcept {
    if (!state.ring.has_room(2)) [[unlikely]] {
        state.drop(record, cpu_ns);
        return;
    }
    state.ring.cell(0) = record;
    Record cpu = record;
    cpu.label.kind = RecordKind::cpu;
    cpu.payload = static_cast<std::uint64_t>(cpu_ns);
    state.ring.cell(1) = cpu;
    state.ring.publish(2);
    call_drain_if_filling(state);
}

std::uint32_t next_serial() noexcept {
    std::uint32_t& serial = detail::thread_local_state.serial;
    if (++serial == 0) [[unlikely]] {
        serial = 1;
    }
    return serial;
}

inline OpenInterval push(ThreadState& state, StageId stage, RecordKind kind,
                         std::int64_t now_ns, std::int64_t cpu_now_ns = -1) noexcept {
    const std::uint32_t depth = state.open.depth();
    OpenFrame frame;
    frame.start_ns = state.not_before_last(now_ns);
    frame.words = detail::label_words(state.context, static_cast<std::uint16_t>(stage),
                                      static_cast<std::uint8_t>(depth), kind);
    frame.cpu_start_ns = cpu_now_ns;
    frame.serial = next_serial();
    state.open.push(frame);
    return {depth, frame.serial};
}

// Whatever the state of the thread. Not inlined: what is called often stays short.
[[gnu::noinline]] OpenInterval begin_anyhow(StageId stage, RecordKind kind) noexcept {
    ThreadState* const state = ready_state();
    if (state == nullptr) {
        return {};
    }
    if (state->open.depth() >= OpenStack::kMaxDepth || stage == StageId::none) {
        state->drop_unsummed();
        return {};
    }
    const std::int64_t now_ns = detail::tick_clock.now_ns();
    return push(*state, stage, kind, now_ns,
                kind == RecordKind::interval ? -1 : detail::thread_cpu_ns());
}

inline Record record_of(const OpenFrame& frame, std::int64_t end_ns) noexcept {
    return {frame.start_ns, static_cast<std::uint64_t>(end_ns - frame.start_ns),
            frame.label()};
}

/// `cpu_ns`: the thread's CPU time at the end, -1 if it was not read.
void record_innermost(ThreadState& state, std::int64_t end_ns,
                      std::int64_t cpu_ns) noexcept {
    const OpenFrame frame = state.open.pop();
    const Record record = record_of(frame, end_ns);
    if (!frame.has_cpu()) {
        append(state, record);
    } else {
        const std::int64_t cpu_end_ns = cpu_ns >= 0 ? cpu_ns : detail::thread_cpu_ns();
        append_with_cpu(state, record, cpu_end_ns - frame.cpu_start_ns);
    }
}

[[gnu::noinline]] void end_anyhow(OpenInterval open) noexcept {
    ThreadState* const state = known_state();
    if (state == nullptr || !state->open.is_open(open.depth, open.serial)) {
        return;
    }
    // CPU time is read by a system call, where a busy machine takes the CPU away:
    // inside the interval, not in a gap of its parent.
    const std::int64_t cpu_ns =
        state->open.top().has_cpu() ? detail::thread_cpu_ns() : -1;
    const std::int64_t now_ns = state->now_ns();
    while (state->open.depth() > open.depth) {
        record_innermost(*state, now_ns, cpu_ns);
    }
}

}  // namespace

// A child of a raw clone allocates nothing: the lock of malloc may be taken for ever
// there.
StageId stage(std::string_view name) noexcept {
    try {
        Recorder& recorder = Recorder::instance();
        return recorder.is_unusable() ? StageId::none
                                      : StageId{recorder.stages.intern(name)};
    } catch (...) {
        return StageId::none;
    }
}

CounterId counter(std::string_view name) noexcept {
    try {
        Recorder& recorder = Recorder::instance();
        return recorder.is_unusable() ? CounterId::none
                                      : CounterId{recorder.counters.intern(name)};
    } catch (...) {
        return CounterId::none;
    }
}

// The usual case of `begin` and `end` calls nothing; everything else is behind one
// jump.
OpenInterval begin(StageId stage) noexcept {
    ThreadState* const state = settled_state();
    std::int64_t now_ns = 0;
    if (state != nullptr && stage != StageId::none &&
        state->open.depth() < OpenStack::kMaxDepth && detail::tick_clock.read(now_ns))
        [[likely]] {
        return push(*state, stage, RecordKind::interval, now_ns);
    }
    return begin_anyhow(stage, RecordKind::interval);
}

OpenInterval begin_with_cpu(StageId stage) noexcept {
    return begin_anyhow(stage, RecordKind::interval_with_cpu);
}

void end(OpenInterval open) noexcept {
    if (open.serial == 0) {
        return;
    }
    ThreadState* const state = settled_state();
    std::int64_t now_ns = 0;
    if (state != nullptr && state->ring.has_much_room() &&
        state->open.depth() == open.depth + 1 && detail::tick_clock.read(now_ns))
        [[likely]] {
        const OpenFrame frame = state->open.at(open.depth);
        if (frame.serial == open.serial && !frame.has_cpu()) [[likely]] {
            state->open.pop_to(open.depth);
            const std::int64_t end_ns = state->not_before_last(now_ns);
            detail::fill(state->ring.cell(), frame.start_ns,
                         static_cast<std::uint64_t>(end_ns - frame.start_ns),
                         frame.words);
            state->ring.publish();
            return;
        }
    }
    end_anyhow(open);
}

void cancel(OpenInterval open) noexcept {
    if (open.serial == 0) {
        return;
    }
    ThreadState* const state = known_state();
    if (state == nullptr || !state->open.is_open(open.depth, open.serial)) {
        return;
    }
    const std::int64_t now_ns = state->now_ns();
    while (state->open.depth() > open.depth + 1) {
        record_innermost(*state, now_ns, -1);
    }
    state->open.pop();
}

void add(StageId stage, std::int64_t start_ns, std::int64_t end_ns,
         Context where) noexcept {
    ThreadState* const state = ready_state();
    if (state == nullptr) {
        return;
    }
    const std::uint32_t depth = state->open.depth();
    if (stage == StageId::none || end_ns < start_ns || depth >= OpenStack::kMaxDepth) {
        state->drop_unsummed();
        return;
    }
    append(*state, {start_ns,
                    static_cast<std::uint64_t>(end_ns - start_ns),
                    {detail::pack(where), static_cast<std::uint16_t>(stage),
                     static_cast<std::uint8_t>(depth), RecordKind::interval}});
}

void count(CounterId counter, double value) noexcept {
    ThreadState* const state = ready_state();
    if (state == nullptr) {
        return;
    }
    // The file takes no NaN, and no sum survives an infinity.
    if (counter == CounterId::none || !std::isfinite(value)) {
        state->drop_unsummed();
        return;
    }
    if (state->ring.has_much_room()) [[likely]] {
        detail::fill(
            state->ring.cell(), state->now_ns(), std::bit_cast<std::uint64_t>(value),
            detail::label_words(state->context, static_cast<std::uint16_t>(counter), 0,
                                RecordKind::counter));
        state->ring.publish();
        return;
    }
    append(*state, {state->now_ns(),
                    std::bit_cast<std::uint64_t>(value),
                    {state->context, static_cast<std::uint16_t>(counter), 0,
                     RecordKind::counter}});
}

void set_context(Context context) noexcept {
    if (ThreadState* const state = ready_state()) {
        state->context = detail::pack(context);
    }
}

Context context() noexcept {
    const ThreadState* const state = known_state();
    return state == nullptr ? Context{} : detail::unpack(state->context);
}

void turn_ended() noexcept {
    if (known_state() == nullptr) {
        return;
    }
    Recorder& recorder = Recorder::instance();
    if (detail::tick_clock.now_ns() - recorder.last_pass_ns() >= kTurnPeriodNs) {
        recorder.wake_drain();
    }
}

}  // namespace metatrain_timing
