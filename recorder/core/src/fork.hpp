#pragma once

namespace metatrain_timing::detail {

class Recorder;

/// Registers the recorder's pthread_atfork handlers; once in a process.
///
/// A fork while another thread is inside SQLite leaves the child with locks that nobody
/// will ever open. So the drain thread is ended before the fork, which also keeps the
/// process free of a second thread of ours, and all locks are held over it. The parent
/// lets go and starts the thread again with its next record; the child begins anew.
///
/// A clone() past the C library runs no handlers: see `Recorder::after_raw_clone()`.
void handle_forks(Recorder& recorder) noexcept;

}  // namespace metatrain_timing::detail
