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
    backward = number("backward");
    optimizer = number("optimizer");
    worker_start = number("worker_start");
    worker_resume = number("worker_resume");
    worker_idle = number("worker_idle");
    fetch = number("fetch");
    dataset = number("dataset");
    collate = number("collate");
    put_index = number("put_index");
    send = number("send");
    receive = number("receive");
    pin = number("pin");
}

}  // namespace metatrain_timing::analyzer
