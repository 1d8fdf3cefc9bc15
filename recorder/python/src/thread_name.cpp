#include "recorder/python/src/thread_name.hpp"

#include <Python.h>

#include <cstddef>
#include <string_view>

#include <metatrain_timing/recorder/recorder.hpp>

namespace metatrain_timing::python {
namespace {

/// Owns one reference, which may be null.
class Reference {
  public:
    explicit Reference(PyObject* object) noexcept : object_(object) {}
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;
    ~Reference() { Py_XDECREF(object_); }

    PyObject* get() const noexcept { return object_; }

  private:
    PyObject* object_;
};

void name_by_threading() noexcept {
    // Not imported, then nobody started a thread in Python.
    const Reference threading(
        PyImport_GetModule(Reference(PyUnicode_FromString("threading")).get()));
    if (threading.get() == nullptr) {
        return;
    }
    // current_thread() would list a thread that is not Python's among Python's.
    const Reference threads(PyObject_GetAttrString(threading.get(), "_active"));
    const Reference ident(PyLong_FromUnsignedLong(PyThread_get_thread_ident()));
    if (threads.get() == nullptr || ident.get() == nullptr) {
        return;
    }
    const Reference thread(PyObject_GetItem(threads.get(), ident.get()));
    if (thread.get() == nullptr) {
        return;
    }
    const Reference name(PyObject_GetAttrString(thread.get(), "name"));
    if (name.get() == nullptr || PyUnicode_Check(name.get()) == 0) {
        return;
    }
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name.get(), &length);
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
