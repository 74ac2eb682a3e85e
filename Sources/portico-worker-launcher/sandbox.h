// What a worker may do, as the kernel enforces it.
#ifndef PORTICO_SANDBOX_H
#define PORTICO_SANDBOX_H

enum sandbox_state {
    SANDBOX_DONE,
    SANDBOX_LACKING, // this kernel cannot, whenever it is asked
    SANDBOX_FAILED,  // it can, and it did not come to it
};

struct sandbox_result {
    enum sandbox_state state;
    const char *reason; // where it is not done
};

// Landlock: `folder` may be read and written; `programs`, up to NULL or an empty text, read and executed; `readable`
// and the system's libraries read, but for what is one of `closed`, up to NULL, or lies in one below them; of `listable`, up to
// NULL, the names in them. From here on nothing else can be opened.
struct sandbox_result sandbox_files(
    const char *folder, const char *const *programs, const char *const *readable, int readable_count,
    const char *const *listable, const char *const *closed);

// Seccomp: no sockets but stream pairs, no processes, one execution, nothing that reaches other processes.
struct sandbox_result sandbox_system_calls(void);

#endif
