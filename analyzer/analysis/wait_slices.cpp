#include "analyzer/analysis/wait_slices.hpp"

#include <algorithm>

#include "analyzer/analysis/stages.hpp"
#include "analyzer/analysis/sweep.hpp"

namespace metatrain_timing::analyzer {
namespace {

constexpr SliceCause kSummed{WaitKind::summed, -1, -1};

}  // namespace

std::string_view name_of(WaitKind kind) {
    switch (kind) {
        case WaitKind::earlier_batch:
            return "earlier_batch";
        case WaitKind::fetch:
            return "fetch";
        case WaitKind::main:
            return "main";
        case WaitKind::pin:
            return "pin";
        case WaitKind::ready:
            return "ready";
        case WaitKind::receive:
            return "receive";
        case WaitKind::send:
            return "send";
        case WaitKind::worker_idle:
            return "worker_idle";
        case WaitKind::worker_start:
            return "worker_start";
        case WaitKind::summed:
        case WaitKind::unattributed:
            break;
    }
    return kUnattributed;
}

WaitSlicer::WaitSlicer(const Findings& findings)
    : run_(findings.run()), stages_(findings.stages()), batches_(findings.batches()) {
}

void WaitSlicer::cut(const Track& track, std::uint32_t wait, const Sink& sink) {
    const Interval& interval = track.intervals[wait];
    sweep(track, wait + 1, interval.start_ns, interval.end_ns(),
          [&](const Slice& slice) {
              if (slice.innermost != nullptr) {
                  sink({WaitKind::main, slice.innermost->stage, -1}, slice.start_ns,
                       slice.end_ns);
              } else {
                  cut_gap(track, interval, slice.start_ns, slice.end_ns, sink);
              }
          });
}

// A stretch in which the waiting thread had nothing to do.
void WaitSlicer::cut_gap(const Track& waiting, const Interval& wait,
                         std::int64_t from_ns, std::int64_t to_ns, const Sink& sink) {
    const BatchEvent* fetch = nullptr;
    Events after;  // send, receive, pin
    for (const BatchEvent& event : batches_.of(wait.iterator, wait.batch)) {
        const Interval& interval = batches_.interval(event);
        const bool by_worker = batches_.process(event).role == Role::worker;
        if (is(interval, stages_.fetch)) {
            fetch = by_worker ? &event : fetch;
        } else if (by_worker ? is(interval, stages_.send)
                             : !is(interval, stages_.put_index) &&
                                   &batches_.track(event) != &waiting) {
            after.push_back(event);
        }
    }
    if (fetch == nullptr) {
        sink(batches_.are_summed() ? kSummed : SliceCause(), from_ns, to_ns);
        return;
    }
    const std::int64_t fetched_ns =
        std::clamp(batches_.interval(*fetch).end_ns(), from_ns, to_ns);
    cut_worker_part(*fetch, from_ns, fetched_ns, sink);
    cut_way_to_main(*fetch, after, fetched_ns, to_ns, sink);
}

// Until the batch was fetched: what its worker did.
void WaitSlicer::cut_worker_part(const BatchEvent& fetch, std::int64_t from_ns,
                                 std::int64_t to_ns, const Sink& sink) {
    const Track& track = batches_.track(fetch);
    const std::int64_t worker = batches_.process(fetch).worker_id.value_or(-1);
    sweep(track, first_overlapping(track, outermost(track), from_ns), from_ns, to_ns,
          [&](const Slice& slice) {
              sink(cause_in_worker(track, slice, batches_.interval(fetch), worker),
                   slice.start_ns, slice.end_ns);
          });
}

SliceCause WaitSlicer::cause_in_worker(const Track& track, const Slice& slice,
                                       const Interval& fetch,
                                       std::int64_t worker) const {
    if (slice.outermost == nullptr) {
        return track.totals.empty() ? SliceCause() : kSummed;
    }
    const int stage = slice.innermost->stage;
    if (slice.outermost == &fetch) {
        return {WaitKind::fetch, stage, worker};
    }
    if (is(*slice.outermost, stages_.fetch)) {
        return {WaitKind::earlier_batch, stage, worker};
    }
    if (is(*slice.outermost, stages_.worker_start)) {
        return {WaitKind::worker_start, stage, worker};
    }
    if (is(*slice.outermost, stages_.worker_idle)) {
        return {WaitKind::worker_idle, stage, worker};
    }
    return {};
}

// Once it was fetched: sent by the worker, received and pinned by other threads.
void WaitSlicer::cut_way_to_main(const BatchEvent& fetch, Events& events,
                                 std::int64_t from_ns, std::int64_t to_ns,
                                 const Sink& sink) {
    const std::int64_t worker = batches_.process(fetch).worker_id.value_or(-1);
    std::sort(events.begin(), events.end(),
              [&](const BatchEvent& a, const BatchEvent& b) {
                  return batches_.interval(a).start_ns < batches_.interval(b).start_ns;
              });
    std::int64_t at_ns = from_ns;
    SliceCause held;  // by nothing on record, until the batch was sent
    for (const BatchEvent& event : events) {
        const Interval& interval = batches_.interval(event);
        const bool is_send = is(interval, stages_.send);
        const std::int64_t start_ns = std::clamp(interval.start_ns, at_ns, to_ns);
        const std::int64_t end_ns = std::clamp(interval.end_ns(), start_ns, to_ns);
        if (is_send) {
            cut_queue(batches_.track(event), at_ns, start_ns, worker, sink);
        } else {
            sink(held, at_ns, start_ns);
        }
        const WaitKind kind = is_send                     ? WaitKind::send
                              : is(interval, stages_.pin) ? WaitKind::pin
                                                          : WaitKind::receive;
        sink({kind, interval.stage, is_send ? worker : -1}, start_ns, end_ns);
        at_ns = end_ns;
        held = SliceCause{WaitKind::ready, -1, -1};
    }
    sink(held, at_ns, to_ns);
}

// Before its own send began, the sender may have been busy with another batch.
void WaitSlicer::cut_queue(const Track& sender, std::int64_t from_ns,
                           std::int64_t to_ns, std::int64_t worker, const Sink& sink) {
    sweep(sender, first_overlapping(sender, outermost(sender), from_ns), from_ns, to_ns,
          [&](const Slice& slice) {
              const bool busy =
                  slice.outermost != nullptr && is(*slice.outermost, stages_.send);
              const bool summed = slice.outermost == nullptr && !sender.totals.empty();
              sink(busy     ? SliceCause{WaitKind::send, slice.innermost->stage, worker}
                   : summed ? kSummed
                            : SliceCause(),
                   slice.start_ns, slice.end_ns);
          });
}

const std::vector<std::uint32_t>& WaitSlicer::outermost(const Track& track) {
    const auto [at, is_new] = outermost_.try_emplace(&track);
    if (is_new) {
        at->second = find_outermost(track);
    }
    return at->second;
}

}  // namespace metatrain_timing::analyzer
