#pragma once

#include <nanobind/nanobind.h>

namespace metatrain_timing::python {

/// Adds the type `Benchmark`, and what it gives, to `module`.
void bind_benchmark(nanobind::module_& module);

}  // namespace metatrain_timing::python
