#include "analyzer/analysis/batch_lives.hpp"

#include <algorithm>

namespace metatrain_timing::analyzer {
namespace {

Span span_of(const Track& track, std::uint32_t i) {
    const Interval& interval = track.intervals[i];
    return {interval.start_ns, interval.end_ns(),
            track.cpu_ns.empty() ? -1 : track.cpu_ns[i]};
}

// Adds a stretch to what is known of a stage.
void widen(std::optional<Span>& span, const Span& more) {
    if (!span) {
        span = more;
        return;
    }
    span->start_ns = std::min(span->start_ns, more.start_ns);
    span->end_ns = std::max(span->end_ns, more.end_ns);
    const bool both = span->cpu_ns >= 0 && more.cpu_ns >= 0;
    span->cpu_ns = both ? span->cpu_ns + more.cpu_ns : -1;
}

void add_parts(const Track& track, std::uint32_t fetch, const StageNumbers& stages,
               BatchLife& life) {
    const Interval& whole = track.intervals[fetch];
    for (std::uint32_t i = fetch + 1; i < track.intervals.size(); ++i) {
        const Interval& part = track.intervals[i];
        if (part.start_ns >= whole.end_ns()) {
            break;
        }
        if (part.depth != whole.depth + 1) {
            continue;
        }
        if (is(part, stages.dataset)) {
            widen(life.dataset, span_of(track, i));
        } else if (is(part, stages.collate)) {
            widen(life.collate, span_of(track, i));
        }
    }
}

}  // namespace

BatchLife find_batch_life(const StageNumbers& stages, const BatchIndex& index,
                          const Track& loop, std::uint32_t wait,
                          std::optional<std::uint32_t> body) {
    const Interval& waited = loop.intervals[wait];
    BatchLife life;
    life.iterator = waited.iterator;
    life.batch = waited.batch;
    life.wait = span_of(loop, wait);
    if (body) {
        life.body = span_of(loop, *body);
    }
    for (const BatchEvent& event : index.of(waited.iterator, waited.batch)) {
        const Interval& interval = index.interval(event);
        const Span span = span_of(index.track(event), event.interval);
        if (is(interval, stages.put_index)) {
            widen(life.put, span);
        } else if (is(interval, stages.send)) {
            widen(life.send, span);
        } else if (is(interval, stages.receive)) {
            widen(life.receive, span);
        } else if (is(interval, stages.pin)) {
            widen(life.pin, span);
        } else {
            widen(life.fetch, span);
            life.process = index.process_of(event);
            add_parts(index.track(event), event.interval, stages, life);
        }
    }
    return life;
}

}  // namespace metatrain_timing::analyzer
