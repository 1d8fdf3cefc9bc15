// Part of a program that records for itself, and is unloaded: see plugin_host.cpp.
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>

extern "C" int record_something(const char* database) {
    using namespace metatrain_timing;
    start({.database = database});
    {
        const Interval interval(stage("work"));
    }
    flush();
    return static_cast<int>(health().recorded_count);
}
