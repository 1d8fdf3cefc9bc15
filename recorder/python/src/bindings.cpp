// The extension module: the recorder's functions under their C++ names, and the
// analyzer.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <metatrain_timing/recorder/recorder.hpp>

#include "recorder/python/src/benchmark.hpp"
#include "recorder/python/src/hot_path.hpp"
#include "recorder/python/src/step_tracker.hpp"

#ifdef MT_PYTHON_WITH_ANALYZER
#include <metatrain_timing/analyzer/analyzer.hpp>
#endif

namespace nb = nanobind;
namespace mt = metatrain_timing;
using namespace nb::literals;

namespace {

/// What `analyze` raises; Python knows it as AnalyzerError.
struct AnalyzerError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;

mt::ProcessInfo::Role to_role(const std::string& role) {
    if (role == "main") {
        return mt::ProcessInfo::Role::main;
    }
    if (role == "worker") {
        return mt::ProcessInfo::Role::worker;
    }
    if (role == "child") {
        return mt::ProcessInfo::Role::child;
    }
    throw nb::value_error("role is 'main', 'worker' or 'child'");
}

/// A path as the file system has it: any bytes, which a Python str may hold too.
std::filesystem::path to_path(const nb::object& path) {
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) {
        throw nb::python_error();
    }
    const auto held = nb::steal<nb::bytes>(bytes);
    return std::string(held.c_str(), held.size());
}

nb::object from_path(const std::filesystem::path& path) {
    const std::string& bytes = path.native();
    return nb::steal(PyUnicode_DecodeFSDefaultAndSize(
        bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

bool start(const nb::object& database, const std::string& command,
           bool continues_previous) {
    mt::Options options = mt::options_from_environment();
    options.database = to_path(database);
    options.command = command;
    options.continues_previous = continues_previous;
    return mt::start(options);
}

nb::dict fix_identity() {
    mt::fix_identity();
    nb::dict variables;
    for (const mt::EnvironmentVariable& variable : mt::environment_for_children()) {
        variables[from_path(variable.name)] = from_path(variable.value);
    }
    return variables;
}

void set_process(const std::string& role, std::optional<std::int64_t> worker_id,
                 std::int64_t loader, const std::string& start_method,
                 std::int64_t started_ns) {
    mt::set_process({.role = to_role(role),
                     .worker_id = worker_id,
                     .loader = loader,
                     .start_method = start_method,
                     .started_ns = started_ns});
}

std::int64_t define_loader(const std::string& name, const std::string& created_at,
                           const std::string& dataset_class, std::int64_t num_workers,
                           std::optional<std::int64_t> batch_size,
                           std::optional<std::int64_t> prefetch_factor,
                           bool persistent_workers, bool pin_memory, bool in_order,
                           const std::string& start_method,
                           const std::string& sampler_class, std::int64_t number) {
    return mt::define_loader({.name = name,
                              .created_at = created_at,
                              .dataset_class = dataset_class,
                              .num_workers = num_workers,
                              .batch_size = batch_size,
                              .prefetch_factor = prefetch_factor,
                              .persistent_workers = persistent_workers,
                              .pin_memory = pin_memory,
                              .in_order = in_order,
                              .start_method = start_method,
                              .sampler_class = sampler_class},
                             number);
}

nb::dict health() {
    mt::Health health;
    {
        const nb::gil_scoped_release released;
        health = mt::health();
    }
    nb::dict result;
    result["file"] = from_path(health.file);
    result["recorded_count"] = health.recorded_count;
    result["dropped_count"] = health.dropped_count;
    result["unsummed_count"] = health.unsummed_count;
    result["degraded"] = health.degraded;
    result["last_problem"] = health.last_problem;
    return result;
}

std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> totals() {
    std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> result;
    for (mt::StageTotal& total : mt::totals()) {
        result.emplace_back(std::move(total.stage), total.calls, total.total_ns);
    }
    return result;
}

std::vector<std::tuple<std::string, double>> counter_totals() {
    std::vector<std::tuple<std::string, double>> result;
    for (mt::CounterTotal& total : mt::counter_totals()) {
        result.emplace_back(std::move(total.counter), total.total);
    }
    return result;
}

std::string analyze(
    [[maybe_unused]] const std::string& path,
    [[maybe_unused]] const std::string& command,
    [[maybe_unused]] const std::map<std::string, std::string>& options) {
#ifdef MT_PYTHON_WITH_ANALYZER
    try {
        return mt::analyzer::run_json(command, path, options);
    } catch (const std::runtime_error& error) {
        throw AnalyzerError(error.what());
    }
#else
    throw AnalyzerError("this build has no analyzer");
#endif
}

void bind_life_cycle(nb::module_& m) {
    m.def("start", &start, "database"_a = "", "command"_a = "",
          "continues_previous"_a = false);
    m.def("recording", &mt::recording);
    m.def("fix_identity", &fix_identity);
    m.def("run_uuid", &mt::run_uuid);
    m.def("process_uuid", &mt::process_uuid);
    m.def("set_process", &set_process, "role"_a, "worker_id"_a = nb::none(),
          "loader"_a = -1, "start_method"_a = "", "started_ns"_a = -1);
    m.def(
        "set_fact",
        [](const std::string& key, const std::string& value) {
            mt::set_fact(key, value);
        },
        "key"_a, "value"_a);
    m.def(
        "note_problem",
        [](const std::string& code, const std::string& text) {
            mt::note_problem(code, text);
        },
        "code"_a, "text"_a);
    m.def("flush", &mt::flush, ReleaseGil());
    m.def("stop", &mt::stop, ReleaseGil());
    m.def("save_children", &mt::save_children, ReleaseGil());
    m.def("stop_after_children", &mt::stop_after_children, ReleaseGil());
    m.def("health", &health);
    m.def("totals", &totals, ReleaseGil());
    m.def("counter_totals", &counter_totals, ReleaseGil());
    m.def("reset_totals", &mt::reset_totals, ReleaseGil());
}

void bind_loaders(nb::module_& m) {
    m.def("define_loader", &define_loader, "name"_a, nb::kw_only(), "created_at"_a = "",
          "dataset_class"_a = "", "num_workers"_a = 0, "batch_size"_a = nb::none(),
          "prefetch_factor"_a = nb::none(), "persistent_workers"_a = false,
          "pin_memory"_a = false, "in_order"_a = true, "start_method"_a = "",
          "sampler_class"_a = "", "number"_a = -1);
    m.def("define_iterator", &mt::define_iterator, "loader"_a, "epoch"_a,
          "number"_a = -1);
    m.def("iterator_first_wait", &mt::iterator_first_wait, "iterator"_a);
    m.def(
        "iterator_phase",
        [](std::int64_t iterator, const std::string& phase) {
            mt::iterator_phase(iterator, phase);
        },
        "iterator"_a, "phase"_a);
    m.def("iterator_ended", &mt::iterator_ended, "iterator"_a, "exhausted"_a);
}

void bind_names(nb::module_& m) {
    m.def(
        "stage",
        [](const std::string& name) { return static_cast<int>(mt::stage(name)); },
        "name"_a, "Intern a stage name.");
    m.def(
        "counter",
        [](const std::string& name) { return static_cast<int>(mt::counter(name)); },
        "name"_a);
}

void bind_analyzer(nb::module_& m) {
    nb::exception<AnalyzerError>(m, "AnalyzerError", PyExc_RuntimeError);
    m.def("analyze", &analyze, "path"_a, "command"_a,
          "options"_a = std::map<std::string, std::string>(), ReleaseGil());
}

}  // namespace

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);  // what is kept to the end of the process is no leak
    bind_life_cycle(m);
    bind_loaders(m);
    bind_names(m);
    mt::python::bind_step_tracker(m);
    mt::python::bind_benchmark(m);
    bind_analyzer(m);
    if (mt::python::add_hot_path(m.ptr()) < 0 || mt::python::add_timed(m.ptr()) < 0) {
        throw nb::python_error();
    }
}
