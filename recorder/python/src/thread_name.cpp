#include "recorder/python/src/thread_name.hpp"

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string_view>

#include <metatrain_timing/recorder/recorder.hpp>

namespace nb = nanobind;

namespace metatrain_timing::python {
namespace {

nb::object attribute(const nb::object& of, const char* name) noexcept {
    return nb::steal(PyObject_GetAttrString(of.ptr(), name));
}

// Every object may be null, with an exception set.
void name_by_threading() noexcept {
    // Not imported, then nobody started a thread in Python.
    const auto module_name = nb::steal(PyUnicode_FromString("threading"));
    const auto threading = nb::steal(PyImport_GetModule(module_name.ptr()));
    if (!threading.is_valid()) {
        return;
    }
    // current_thread() would list a thread that is not Python's among Python's.
    const auto threads = attribute(threading, "_active");
    const auto ident = nb::steal(PyLong_FromUnsignedLong(PyThread_get_thread_ident()));
    if (!threads.is_valid() || !ident.is_valid()) {
        return;
    }
    const auto thread = nb::steal(PyObject_GetItem(threads.ptr(), ident.ptr()));
    if (!thread.is_valid()) {
        return;
    }
    const auto name = attribute(thread, "name");
    if (!name.is_valid() || PyUnicode_Check(name.ptr()) == 0) {
        return;
    }
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name.ptr(), &length);
    if (text != nullptr && length > 0) {
        set_thread_name(std::string_view(text, static_cast<std::size_t>(length)));
    }
}

}  // namespace

void name_thread() noexcept {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);  // a block may be entered in a finally
    name_by_threading();
    PyErr_Restore(type, value, traceback);  // replaces what the lookup may have set
}

}  // namespace metatrain_timing::python
