#pragma once

#include <Python.h>

#include <metatrain_timing/recorder/interval.hpp>

/// The functions of `_native` that lie in a training's hot path, written on the C API:
/// a call through nanobind costs more than the interval it opens.
namespace metatrain_timing::python {

/// A function of METH_FASTCALL as method tables want it.
inline PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*,
                                              Py_ssize_t)) noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// Adds begin, end, cancel, add, count, set_context, context, turn_ended and now_ns to
/// `module`. Returns -1 with a Python exception set on failure.
int add_hot_path(PyObject* module) noexcept;

/// Adds the type `timed` and the function `inside` to `module`; as `add_hot_path`.
int add_timed(PyObject* module) noexcept;

}  // namespace metatrain_timing::python
