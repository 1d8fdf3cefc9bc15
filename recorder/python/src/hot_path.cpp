#include "recorder/python/src/hot_path.hpp"

#include <metatrain_timing/recorder/recorder.hpp>

#include "recorder/python/src/thread_name.hpp"

namespace metatrain_timing::python {
namespace {

using Arguments = PyObject* const*;

/// A token is `serial << 32 | depth`: 0 exactly where `begin` recorded nothing.
PyObject* to_token(OpenInterval open) noexcept {
    return PyLong_FromUnsignedLongLong(
        static_cast<unsigned long long>(open.serial) << 32 | open.depth);
}

bool from_token(PyObject* object, OpenInterval& open) noexcept {
    const unsigned long long token = PyLong_AsUnsignedLongLong(object);
    if (token == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
        return false;
    }
    open.depth = static_cast<std::uint32_t>(token);
    open.serial = static_cast<std::uint32_t>(token >> 32);
    return true;
}

bool check_count(const char* function, Py_ssize_t given, Py_ssize_t least,
                 Py_ssize_t most) noexcept {
    if (given < least || given > most) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd arguments (%zd given)",
                     function, least, most, given);
        return false;
    }
    return true;
}

/// Reads `given` integers into `values`, which holds the defaults.
bool read_integers(Arguments arguments, Py_ssize_t given,
                   std::int64_t* values) noexcept {
    for (Py_ssize_t i = 0; i < given; ++i) {
        values[i] = PyLong_AsLongLong(arguments[i]);
        if (values[i] == -1 && PyErr_Occurred() != nullptr) {
            return false;
        }
    }
    return true;
}

PyObject* py_begin(PyObject* /*module*/, Arguments arguments,
                   Py_ssize_t given) noexcept {
    if (!check_count("begin", given, 1, 2)) {
        return nullptr;
    }
    const long stage = PyLong_AsLong(arguments[0]);
    if (stage == -1 && PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    const int cpu = given == 2 ? PyObject_IsTrue(arguments[1]) : 0;
    if (cpu < 0) {
        return nullptr;
    }
    if (recording()) {
        name_thread_once();
    }
    const auto id = static_cast<StageId>(stage);
    return to_token(cpu != 0 ? begin_with_cpu(id) : begin(id));
}

PyObject* py_end(PyObject* /*module*/, PyObject* token) noexcept {
    OpenInterval open;
    if (!from_token(token, open)) {
        return nullptr;
    }
    end(open);
    Py_RETURN_NONE;
}

PyObject* py_cancel(PyObject* /*module*/, PyObject* token) noexcept {
    OpenInterval open;
    if (!from_token(token, open)) {
        return nullptr;
    }
    cancel(open);
    Py_RETURN_NONE;
}

PyObject* py_add(PyObject* /*module*/, Arguments arguments, Py_ssize_t given) noexcept {
    std::int64_t values[] = {0, 0, 0, -1, -1, -1};
    if (!check_count("add", given, 3, 6) || !read_integers(arguments, given, values)) {
        return nullptr;
    }
    if (recording()) {
        name_thread_once();
    }
    add(static_cast<StageId>(values[0]), values[1], values[2],
        {.iterator = values[3], .batch = values[4], .step = values[5]});
    Py_RETURN_NONE;
}

PyObject* py_count(PyObject* /*module*/, Arguments arguments,
                   Py_ssize_t given) noexcept {
    if (!check_count("count", given, 2, 2)) {
        return nullptr;
    }
    const long counter = PyLong_AsLong(arguments[0]);
    const double value = PyFloat_AsDouble(arguments[1]);
    if (PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    if (recording()) {
        name_thread_once();
    }
    count(static_cast<CounterId>(counter), value);
    Py_RETURN_NONE;
}

PyObject* py_set_context(PyObject* /*module*/, Arguments arguments,
                         Py_ssize_t given) noexcept {
    std::int64_t values[] = {-1, -1, -1};
    if (!check_count("set_context", given, 0, 3) ||
        !read_integers(arguments, given, values)) {
        return nullptr;
    }
    set_context({.iterator = values[0], .batch = values[1], .step = values[2]});
    Py_RETURN_NONE;
}

PyObject* py_context(PyObject* /*module*/, PyObject* /*unused*/) noexcept {
    const Context now = context();
    return Py_BuildValue("(LLL)", static_cast<long long>(now.iterator),
                         static_cast<long long>(now.batch),
                         static_cast<long long>(now.step));
}

PyObject* py_turn_ended(PyObject* /*module*/, PyObject* /*unused*/) noexcept {
    turn_ended();
    Py_RETURN_NONE;
}

PyObject* py_now_ns(PyObject* /*module*/, PyObject* /*unused*/) noexcept {
    return PyLong_FromLongLong(now_ns());
}

PyMethodDef functions[] = {
    {"begin", fast(py_begin), METH_FASTCALL,
     "begin($module, stage, cpu=False, /)\n--\n\n"
     "Open an interval; the token goes to `end` or `cancel`. 0 when recording is off."},
    {"end", py_end, METH_O,
     "end($module, token, /)\n--\n\nClose an interval and those inside it."},
    {"cancel", py_cancel, METH_O,
     "cancel($module, token, /)\n--\n\nClose an interval without recording it."},
    {"add", fast(py_add), METH_FASTCALL,
     "add($module, stage, start_ns, end_ns, iterator=-1, batch=-1, step=-1, /)\n--\n\n"
     "Record an interval that is over."},
    {"count", fast(py_count), METH_FASTCALL,
     "count($module, counter, value, /)\n--\n\nAdd `value` to a counter now."},
    {"set_context", fast(py_set_context), METH_FASTCALL,
     "set_context($module, iterator=-1, batch=-1, step=-1, /)\n--\n\n"
     "Say what this thread works on."},
    {"context", py_context, METH_NOARGS,
     "context($module, /)\n--\n\nWhat this thread works on."},
    {"turn_ended", py_turn_ended, METH_NOARGS,
     "turn_ended($module, /)\n--\n\nSay that a turn of this thread's loop is over."},
    {"now_ns", py_now_ns, METH_NOARGS,
     "now_ns($module, /)\n--\n\nCLOCK_MONOTONIC in nanoseconds."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_hot_path(PyObject* module) noexcept {
    return PyModule_AddFunctions(module, functions);
}

}  // namespace metatrain_timing::python
