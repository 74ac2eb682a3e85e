// What a worker may do, as the kernel enforces it. Both functions return NULL, or why the kernel does not.
#ifndef PORTICO_SANDBOX_H
#define PORTICO_SANDBOX_H

// Landlock: `folder` may be read and written; `programs`, up to NULL or an empty text, read and executed; `readable`
// and the system's libraries read. From here on nothing else can be opened.
const char *sandbox_files(
    const char *folder, const char *const *programs, const char *const *readable, int readable_count);

// Seccomp: no sockets but stream pairs, no processes, one execution, nothing that reaches other processes.
const char *sandbox_system_calls(void);

#endif
