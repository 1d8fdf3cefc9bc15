#pragma once

namespace metatrain_timing::python {

/// Gives the calling thread's track the name that Python's `threading` has for it,
/// which the kernel learns from CPython 3.14 on only. A thread that is not Python's
/// keeps the kernel's name. Needs the GIL; sets no exception.
void name_thread() noexcept;

/// Whether the calling thread was named.
inline thread_local constinit bool thread_is_named = false;

/// `name_thread()` at the first call of a thread; a test of a bool at later ones. To be
/// called where recording is on.
inline void name_thread_once() noexcept {
    if (!thread_is_named) {
        thread_is_named = true;
        name_thread();
    }
}

}  // namespace metatrain_timing::python
