// The tracepoint provider; see lttng_events.inc.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "benchmarks/lttng_events.inc"
