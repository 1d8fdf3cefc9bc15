#include "analyzer/analysis/stages.hpp"

#include <algorithm>

namespace metatrain_timing::analyzer {

StageNumbers::StageNumbers(const Run& run) {
    const auto number = [&run](std::string_view name) {
        const auto found = std::find(run.stages.begin(), run.stages.end(), name);
        return found == run.stages.end() ? -1
                                         : static_cast<int>(found - run.stages.begin());
    };
    loader = number("loader");
    loader_end = number("loader_end");
    step = number("step");
    optimizer = number("optimizer");
    worker_start = number("worker_start");
    worker_idle = number("worker_idle");
    fetch = number("fetch");
    put_index = number("put_index");
    send = number("send");
    receive = number("receive");
    pin = number("pin");
}

}  // namespace metatrain_timing::analyzer
