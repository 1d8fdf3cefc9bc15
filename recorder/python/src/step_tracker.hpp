#pragma once

#include <nanobind/nanobind.h>

namespace metatrain_timing::python {

/// Adds the type `StepTracker` to `module`.
void bind_step_tracker(nanobind::module_& module);

}  // namespace metatrain_timing::python
