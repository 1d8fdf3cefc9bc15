#include "recorder/python/src/step_tracker.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <metatrain_timing/recorder/step_tracker.hpp>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace metatrain_timing::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_step_tracker(nb::module_& module) {
    nb::class_<StepTracker>(module, "StepTracker")
        .def(
            "__init__",
            [](StepTracker* self, std::optional<StepTracker::StepHook> on_step) {
                new (self) StepTracker(std::move(on_step).value_or(nullptr));
            },
            "on_step"_a = nb::none())
        .def_static("of_process", &StepTracker::of_process, nb::rv_policy::reference)
        .def(
            "init_step_count",
            [](StepTracker& self, const std::string& requester) {
                self.init_step_count(requester);
            },
            "requester"_a)
        .def(
            "erase_step_count",
            [](StepTracker& self, const std::string& requester) {
                return self.erase_step_count(requester);
            },
            "requester"_a)
        .def(
            "increment_step",
            [](StepTracker& self, const std::string& requester) {
                return self.increment_step(requester);
            },
            "requester"_a)
        .def("current_step", &StepTracker::current_step)
        .def("step_counts", &StepTracker::step_counts);
}

}  // namespace metatrain_timing::python
