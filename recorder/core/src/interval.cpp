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

constexpr std::int64_t kTurnPeriodNs = 25'000'000;

// The calling thread's state, ready to record; nullptr where recording is off.
inline ThreadState* ready_state() noexcept {
    const std::uint64_t now = detail::epoch.load(std::memory_order_relaxed);
    if (now == 0) {
        return nullptr;
    }
    ThreadState* const state = detail::thread_local_state.state;
    if (state != nullptr && state->epoch == now) [[likely]] {
        return state;
    }
    return Recorder::instance().attach();
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
        state.drop();
        return;
    }
    state.ring.cell() = record;
    state.ring.publish();
    call_drain_if_filling(state);
}

// The two are published at once, so that the drain never sees the first alone.
void append_with_cpu(ThreadState& state, Record record, std::int64_t cpu_ns) noexcept {
    if (!state.ring.has_room(2)) [[unlikely]] {
        state.drop();
        return;
    }
    record.kind = RecordKind::interval_with_cpu;
    state.ring.cell(0) = record;
    record.kind = RecordKind::cpu;
    record.payload = static_cast<std::uint64_t>(cpu_ns);
    state.ring.cell(1) = record;
    state.ring.publish(2);
    call_drain_if_filling(state);
}

OpenInterval begin_at_depth(StageId stage, bool with_cpu) noexcept {
    ThreadState* const state = ready_state();
    if (state == nullptr) {
        return {};
    }
    const std::uint32_t depth = state->open.depth();
    if (depth >= OpenStack::kMaxDepth || stage == StageId::none) [[unlikely]] {
        state->drop();
        return {};
    }
    std::uint32_t& serial = detail::thread_local_state.serial;
    if (++serial == 0) [[unlikely]] {
        serial = 1;
    }
    OpenFrame frame;
    frame.context = state->context;
    frame.serial = serial;
    frame.stage = static_cast<std::uint16_t>(stage);
    frame.start_ns = detail::monotonic_ns();
    if (with_cpu) {
        frame.cpu_start_ns = detail::thread_cpu_ns();
    }
    state->open.push(frame);
    return {depth, serial};
}

/// `cpu_ns`: the thread's CPU time at the end, -1 if it was not read.
void record_innermost(ThreadState& state, std::int64_t end_ns,
                      std::int64_t cpu_ns) noexcept {
    const OpenFrame frame = state.open.pop();
    Record record;
    record.start_ns = frame.start_ns;
    record.payload = static_cast<std::uint64_t>(end_ns - frame.start_ns);
    record.context = frame.context;
    record.name = frame.stage;
    record.depth = static_cast<std::uint8_t>(state.open.depth());
    if (frame.cpu_start_ns < 0) [[likely]] {
        append(state, record);
    } else {
        const std::int64_t cpu_end_ns = cpu_ns >= 0 ? cpu_ns : detail::thread_cpu_ns();
        append_with_cpu(state, record, cpu_end_ns - frame.cpu_start_ns);
    }
}

}  // namespace

StageId stage(std::string_view name) noexcept {
    try {
        return StageId{Recorder::instance().stages.intern(name)};
    } catch (...) {
        return StageId::none;
    }
}

CounterId counter(std::string_view name) noexcept {
    try {
        return CounterId{Recorder::instance().counters.intern(name)};
    } catch (...) {
        return CounterId::none;
    }
}

OpenInterval begin(StageId stage) noexcept {
    return begin_at_depth(stage, false);
}

OpenInterval begin_with_cpu(StageId stage) noexcept {
    return begin_at_depth(stage, true);
}

void end(OpenInterval open) noexcept {
    if (open.serial == 0) {
        return;
    }
    ThreadState* const state = known_state();
    if (state == nullptr || !state->open.is_open(open.depth, open.serial)) {
        return;
    }
    // CPU time is read by a system call, where a busy machine takes the CPU away:
    // inside the interval, not in a gap of its parent.
    const std::int64_t cpu_ns =
        state->open.innermost_has_cpu() ? detail::thread_cpu_ns() : -1;
    const std::int64_t now = detail::monotonic_ns();
    while (state->open.depth() > open.depth) {
        record_innermost(*state, now, cpu_ns);
    }
}

void cancel(OpenInterval open) noexcept {
    if (open.serial == 0) {
        return;
    }
    ThreadState* const state = known_state();
    if (state == nullptr || !state->open.is_open(open.depth, open.serial)) {
        return;
    }
    const std::int64_t now = detail::monotonic_ns();
    while (state->open.depth() > open.depth + 1) {
        record_innermost(*state, now, -1);
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
        state->drop();
        return;
    }
    Record record;
    record.start_ns = start_ns;
    record.payload = static_cast<std::uint64_t>(end_ns - start_ns);
    record.context = detail::pack(where);
    record.name = static_cast<std::uint16_t>(stage);
    record.depth = static_cast<std::uint8_t>(depth);
    append(*state, record);
}

void count(CounterId counter, double value) noexcept {
    ThreadState* const state = ready_state();
    if (state == nullptr) {
        return;
    }
    // The file takes no NaN, and no sum survives an infinity.
    if (counter == CounterId::none || !std::isfinite(value)) {
        state->drop();
        return;
    }
    Record record;
    record.start_ns = detail::monotonic_ns();
    record.payload = std::bit_cast<std::uint64_t>(value);
    record.context = state->context;
    record.name = static_cast<std::uint16_t>(counter);
    record.kind = RecordKind::counter;
    append(*state, record);
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
    if (detail::monotonic_ns() - recorder.last_pass_ns() >= kTurnPeriodNs) {
        recorder.wake_drain();
    }
}

}  // namespace metatrain_timing
