#include "tests/fuzz/trace_input.hpp"

#include <filesystem>
#include <metatrain_timing/analyzer/analyzer.hpp>
#include <string>

#include "analyzer/analysis/report.hpp"
#include "analyzer/error.hpp"
#include "analyzer/export_run.hpp"
#include "analyzer/import_trace.hpp"
#include "tests/analyzer/load/training_files.hpp"
#include "tests/fuzz/damage.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

namespace fs = std::filesystem;
using analyzer::TraceSource;

std::string exported_trace() {
    const TempFolder folder;
    write_training(folder / "run.db");
    analyzer::ExportQuestion question;
    question.path = folder / "run.db";
    question.output = folder / "trace.json";
    analyzer::export_run(question, {});
    return content(question.output);
}

// Two turns, and the request that found no more batches.
const std::string kProfiled = R"({"baseTimeNanoseconds": 1790000000000000000,
"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 1, "tid": 1, "ts": 1.5, "dur": 20},
{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 2, "dur": 4},
{"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 1, "tid": 1, "ts": 7, "dur": 2, "args": {"step": 0}},
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: A", "pid": 1, "tid": 1, "ts": 10, "dur": 2},
{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#SGD.step", "pid": 1, "tid": 1, "ts": 13, "dur": 2},
{"ph": "B", "cat": "user_annotation", "name": "own", "pid": 1, "tid": 1, "ts": 16},
{"ph": "E", "pid": 1, "tid": 1, "ts": 17},
{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 22, "dur": 4},
{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#SGD.step", "pid": 1, "tid": 1, "ts": 30, "dur": 2},
{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 40, "dur": 1},
{"ph": "C", "name": "atoms", "pid": 1, "tid": 1, "ts": 8, "args": {"value": 3}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}}
]})";

}  // namespace

void trace_input(std::span<const std::uint8_t> bytes) {
    static const std::string kExported = exported_trace();
    const int kind = bytes.empty() ? 0 : bytes.front() % 3;
    const auto changes = bytes.empty() ? bytes : bytes.subspan(1);
    const TempFolder folder;
    const std::string trace = folder / "trace.json";
    write(trace, kind == 2 ? std::string(changes.begin(), changes.end())
                           : damaged(kind == 0 ? kExported : kProfiled, changes));
    const auto source = kind == 1 ? TraceSource::kineto : TraceSource::chrome;
    const std::string output = folder / "run.db";
    try {
        analyzer::import_trace({trace}, source, output);
    } catch (const analyzer::Error&) {
        require(!fs::exists(output), "what failed leaves no file");
        return;
    }
    try {
        const analyzer::Run run = analyzer::load_run(output);
        analyzer::make_report(analyzer::Findings(run));
    } catch (const analyzer::Error&) {
        require(false, "what was imported can be loaded");
    }
}

}  // namespace metatrain_timing::test
