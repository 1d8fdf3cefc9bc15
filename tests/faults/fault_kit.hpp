#pragma once

/// Faults of the system, made to order: a library that stands in for functions of the C
/// library. A program is linked with it and calls `mt_set_faults()`; any other one is
/// started with the library in LD_PRELOAD and the same text in MT_FAULTS. It stands
/// alone, so that a compiler and this folder are all that is needed to build it.
///
/// The text is up to 8 rules with blanks between them, each CALL[@WHERE]:WHICH:WHAT
///     CALL   open, write, fsync, fcntl (locks alone), mmap, fallocate, malloc,
///            pthread_create; each with its relatives (openat, pwrite, fdatasync, …)
///     WHERE  calls on files alone whose path contains it; for malloc and
///            pthread_create: by threads alone whose name contains it
///     WHICH  3: the third such call; 3+: that one and all after it
///     WHAT   the call fails with this error (ENOSPC, …, or its number), or `sleep=S`:
///            it takes S seconds longer, `short`: half of it is written, `kill`: the
///            process is killed before it
/// as in "write@run.db:3+:ENOSPC fcntl@.lock:1:sleep=600". What is no rule ends the
/// process: a test must not pass because of a typing error.
extern "C" {

/// Replaces all rules, in this process and the children it forks from now on; "": none.
void mt_set_faults(const char* rules);

/// How many calls met a rule since then.
unsigned mt_faults_met();
}
