#include "recorder/python/src/benchmark.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <metatrain_timing/recorder/benchmark.hpp>
#include <new>
#include <optional>
#include <vector>

namespace metatrain_timing::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_benchmark(nb::module_& module) {
    nb::class_<BenchmarkWindow>(module, "BenchmarkWindow")
        .def_ro("epoch", &BenchmarkWindow::epoch)
        .def_ro("first_step", &BenchmarkWindow::first_step)
        .def_ro("steps", &BenchmarkWindow::steps)
        .def_ro("total_ns", &BenchmarkWindow::total_ns)
        .def_ro("samples", &BenchmarkWindow::samples)
        .def_ro("step_error_ns", &BenchmarkWindow::step_error_ns)
        .def_prop_ro("step_ns", &BenchmarkWindow::step_ns)
        .def_prop_ro("samples_per_s", &BenchmarkWindow::samples_per_s);
    nb::class_<BenchmarkPrediction>(module, "BenchmarkPrediction")
        .def_ro("total_ns", &BenchmarkPrediction::total_ns)
        .def_ro("low_ns", &BenchmarkPrediction::low_ns)
        .def_ro("high_ns", &BenchmarkPrediction::high_ns)
        .def_ro("steps_ns", &BenchmarkPrediction::steps_ns)
        .def_ro("epoch_starts_ns", &BenchmarkPrediction::epoch_starts_ns)
        .def_ro("epoch_ends_ns", &BenchmarkPrediction::epoch_ends_ns);
    nb::class_<Benchmark>(module, "Benchmark")
        .def(
            "__init__",
            [](Benchmark* self, std::int64_t epochs, std::int64_t min_steps,
               const std::vector<std::int64_t>& epoch_list,
               const std::vector<std::int64_t>& step_list, bool all_epochs,
               std::int64_t warmup_steps) {
                new (self) Benchmark(
                    {min_steps, epoch_list, step_list, all_epochs, warmup_steps},
                    epochs);
            },
            "epochs"_a, nb::kw_only(), "min_steps"_a, "epoch_list"_a, "step_list"_a,
            "all_epochs"_a, "warmup_steps"_a)
        .def("begin_epoch", &Benchmark::begin_epoch, "now_ns"_a)
        .def("begin_pass", &Benchmark::begin_pass, "now_ns"_a, "steps"_a.none())
        .def("begin_step", &Benchmark::begin_step)
        .def("batch_delivered", &Benchmark::batch_delivered, "now_ns"_a)
        .def("end_step", &Benchmark::end_step, "now_ns"_a, "samples"_a)
        .def("end_pass", &Benchmark::end_pass, "now_ns"_a)
        .def("set_samples", &Benchmark::set_samples, "samples"_a)
        .def("windows", &Benchmark::windows, nb::rv_policy::copy)
        .def("prediction", &Benchmark::prediction);
}

}  // namespace metatrain_timing::python
