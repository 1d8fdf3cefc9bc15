// The type `timed`: `with timed("forward"): ...` at the cost of two clock readings.
//
// There is one object per stage name, made at the first use and kept for good, so that
// `timed("forward")` is a dictionary lookup. An object holds its stage and nothing
// else: what is open lies in a stack of the thread, which makes objects re-entrant and
// usable from several threads.
//
// Each object has a type of its own, a subclass of `timed`, in which `__enter__` and
// `__exit__` are functions that belong to the object already. Those of `timed` itself
// would be bound for each block: two allocations, half of what a block costs.

#include "recorder/python/src/hot_path.hpp"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>

#include <metatrain_timing/recorder/recorder.hpp>

#include "recorder/python/src/thread_name.hpp"

namespace metatrain_timing::python {
namespace {

struct Timed {
    PyObject_HEAD PyObject* name;
    StageId stage;
};

struct Entered {
    const Timed* timed;
    OpenInterval open;
};

/// Blocks that a thread is in, outermost first. Deeper ones are not recorded.
struct EnteredStack {
    static constexpr std::size_t kCapacity = 256;
    std::array<Entered, kCapacity> entries;
    std::size_t size = 0;
};

// A module that is loaded late gets few bytes of fast thread-local memory: a pointer.
thread_local constinit EnteredStack* entered = nullptr;

/// The stack of this thread, which lives as long as the thread; null: no memory.
EnteredStack* make_entered() noexcept {
    name_thread_once();
    thread_local std::unique_ptr<EnteredStack> owner;
    owner.reset(new (std::nothrow) EnteredStack);
    entered = owner.get();
    return entered;
}

PyObject* objects_by_name = nullptr;  // dict: stage name -> Timed
PyTypeObject* timed_type = nullptr;

extern PyMethodDef block_methods[];

/// A new object of a type of its own.
PyObject* make_object() noexcept {
    static PyType_Slot no_slots[] = {{0, nullptr}};
    static PyType_Spec own = {
        .name = "metatrain_timing._native.timed",
        .basicsize = 0,  // inherited
        .itemsize = 0,
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = no_slots,
    };
    PyObject* type =
        PyType_FromSpecWithBases(&own, reinterpret_cast<PyObject*>(timed_type));
    if (type == nullptr) {
        return nullptr;
    }
    auto* const own_type = reinterpret_cast<PyTypeObject*>(type);
    PyObject* object = own_type->tp_alloc(own_type, 0);
    for (PyMethodDef* method = block_methods; object != nullptr && method->ml_name;
         ++method) {
        PyObject* bound = PyCFunction_New(method, object);
        if (bound == nullptr ||
            PyObject_SetAttrString(type, method->ml_name, bound) < 0) {
            Py_CLEAR(object);
        }
        Py_XDECREF(bound);
    }
    Py_DECREF(type);
    return object;
}

// What loops, batches and workers are read from. A user's block of such a name is
// another thing: it would be taken for a wait, a turn or a batch.
constexpr std::array<std::string_view, 11> kOwnNames{
    "loader",    "loader_end", "step", "worker_start", "worker_idle", "worker_resume",
    "put_index", "fetch",      "send", "receive",      "pin"};

StageId stage_of_block(std::string_view name) noexcept {
    if (std::find(kOwnNames.begin(), kOwnNames.end(), name) == kOwnNames.end()) {
        return stage(name);
    }
    constexpr std::string_view kMark = " (timed)";
    std::array<char, 32> text{};
    const auto end = std::copy(name.begin(), name.end(), text.begin());
    std::copy(kMark.begin(), kMark.end(), end);
    return stage({text.data(), name.size() + kMark.size()});
}

PyObject* make_timed(PyObject* name) noexcept {
    // A name may have come from a file name that is not UTF-8.
    PyObject* text = PyUnicode_AsEncodedString(name, "utf-8", "replace");
    PyObject* object = text == nullptr ? nullptr : make_object();
    if (object == nullptr) {
        Py_XDECREF(text);
        return nullptr;
    }
    auto* timed = reinterpret_cast<Timed*>(object);
    timed->name = Py_NewRef(name);
    timed->stage = stage_of_block(
        {PyBytes_AS_STRING(text), static_cast<std::size_t>(PyBytes_GET_SIZE(text))});
    Py_DECREF(text);
    // Another thread may have been faster: the first object stays the only one.
    PyObject* kept = PyDict_SetDefault(objects_by_name, name, object);
    Py_XINCREF(kept);
    Py_DECREF(object);
    return kept;
}

PyObject* timed_of(PyObject* name) noexcept {
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "timed() takes a stage name, not %.100s",
                     Py_TYPE(name)->tp_name);
        return nullptr;
    }
    PyObject* found = PyDict_GetItemWithError(objects_by_name, name);
    if (found != nullptr) {
        return Py_NewRef(found);
    }
    return PyErr_Occurred() != nullptr ? nullptr : make_timed(name);
}

PyObject* call_type(PyObject* /*type*/, PyObject* const* arguments, std::size_t flags,
                    PyObject* keywords) noexcept {
    const Py_ssize_t positional = PyVectorcall_NARGS(flags);
    if (positional == 1 && keywords == nullptr) {
        return timed_of(arguments[0]);
    }
    const bool by_keyword =
        positional == 0 && keywords != nullptr && PyTuple_GET_SIZE(keywords) == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "stage") == 0;
    if (by_keyword) {
        return timed_of(arguments[0]);
    }
    PyErr_SetString(PyExc_TypeError, "timed() takes one argument, the name of a stage");
    return nullptr;
}

PyObject* new_timed(PyTypeObject* /*type*/, PyObject* arguments,
                    PyObject* keywords) noexcept {
    static const char* names[] = {"stage", nullptr};
    PyObject* name = nullptr;
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "U:timed",
                                    const_cast<char**>(names), &name) == 0) {
        return nullptr;
    }
    return timed_of(name);
}

void deallocate(PyObject* self) noexcept {
    PyTypeObject* type = Py_TYPE(self);
    Py_CLEAR(reinterpret_cast<Timed*>(self)->name);
    type->tp_free(self);
    Py_DECREF(type);
}

// `self` may come a second time as an argument: ExitStack calls `type(self).__enter__`.
PyObject* enter(PyObject* self, PyObject* const* /*arguments*/,
                Py_ssize_t /*given*/) noexcept {
    const auto* timed = reinterpret_cast<const Timed*>(self);
    if (recording()) {
        EnteredStack* stack = entered != nullptr ? entered : make_entered();
        if (stack != nullptr && stack->size < EnteredStack::kCapacity) {
            stack->entries[stack->size++] = {timed, begin(timed->stage)};
        }
    }
    return Py_NewRef(self);
}

PyObject* leave(PyObject* self, PyObject* const* /*arguments*/,
                Py_ssize_t /*given*/) noexcept {
    const auto* timed = reinterpret_cast<const Timed*>(self);
    EnteredStack* stack = entered;
    for (std::size_t i = stack == nullptr ? 0 : stack->size; i-- > 0;) {
        if (stack->entries[i].timed == timed) {
            end(stack->entries[i].open);  // and those left open inside
            stack->size = i;
            break;
        }
    }
    Py_RETURN_FALSE;
}

PyObject* decorate(PyObject* self, PyObject* function) noexcept {
    PyObject* module = PyImport_ImportModule("metatrain_timing._decorator");
    if (module == nullptr) {
        return nullptr;
    }
    PyObject* wrapped = PyObject_CallMethod(module, "decorate", "OO", self, function);
    Py_DECREF(module);
    return wrapped;
}

PyObject* call_object(PyObject* self, PyObject* arguments,
                      PyObject* keywords) noexcept {
    PyObject* function = nullptr;
    if (keywords != nullptr && PyDict_GET_SIZE(keywords) != 0) {
        PyErr_SetString(PyExc_TypeError, "a timed() decorates one function");
        return nullptr;
    }
    if (PyArg_ParseTuple(arguments, "O:timed", &function) == 0) {
        return nullptr;
    }
    return decorate(self, function);
}

PyObject* represent(PyObject* self) noexcept {
    return PyUnicode_FromFormat("timed(%R)", reinterpret_cast<Timed*>(self)->name);
}

PyObject* reduce(PyObject* self, PyObject* /*unused*/) noexcept {
    return Py_BuildValue("O(O)", timed_type, reinterpret_cast<Timed*>(self)->name);
}

/// Whether this thread is in a block of `timed` with this stage.
PyObject* inside(PyObject* /*module*/, PyObject* argument) noexcept {
    const long stage = PyLong_AsLong(argument);
    if (stage == -1 && PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    const EnteredStack* stack = entered;
    for (std::size_t i = stack == nullptr ? 0 : stack->size; i-- > 0;) {
        if (static_cast<long>(stack->entries[i].timed->stage) == stage) {
            Py_RETURN_TRUE;
        }
    }
    Py_RETURN_FALSE;
}

/// A forked child is in none of its parent's blocks.
PyObject* forget_entered(PyObject* /*module*/, PyObject* /*unused*/) noexcept {
    if (entered != nullptr) {
        entered->size = 0;
    }
    Py_RETURN_NONE;
}

constexpr const char* kEnterText = "Open the interval.";
constexpr const char* kExitText = "Close the interval, also when the block raised.";

PyMethodDef block_methods[] = {
    {"__enter__", fast(enter), METH_FASTCALL, kEnterText},
    {"__exit__", fast(leave), METH_FASTCALL, kExitText},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef methods[] = {
    {"__enter__", fast(enter), METH_FASTCALL, kEnterText},
    {"__exit__", fast(leave), METH_FASTCALL, kExitText},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"stage", T_OBJECT, offsetof(Timed, name), READONLY, "name of the stage"},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr const char* kDocumentation =
    "timed(stage)\n--\n\n"
    "`with timed(stage): ...` or `@timed(stage)`; also recorded when the block "
    "raises.\n\n"
    "Off: enters and leaves without reading a clock.";

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(kDocumentation)},
    {Py_tp_new, reinterpret_cast<void*>(new_timed)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_call, reinterpret_cast<void*>(call_object)},
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    .name = "metatrain_timing._native.timed",
    .basicsize = sizeof(Timed),
    .itemsize = 0,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

PyMethodDef functions[] = {
    {"inside", inside, METH_O,
     "inside($module, stage, /)\n--\n\n"
     "Whether this thread is in a `timed` block of this stage."},
    {"forget_entered", forget_entered, METH_NOARGS,
     "forget_entered($module, /)\n--\n\n"
     "Forget the `timed` blocks of the parent; for a child after a fork."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_timed(PyObject* module) noexcept {
    objects_by_name = PyDict_New();
    timed_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (objects_by_name == nullptr || timed_type == nullptr) {
        return -1;
    }
    timed_type->tp_vectorcall = call_type;
    if (PyModule_AddObjectRef(module, "timed",
                              reinterpret_cast<PyObject*>(timed_type)) < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}

}  // namespace metatrain_timing::python
