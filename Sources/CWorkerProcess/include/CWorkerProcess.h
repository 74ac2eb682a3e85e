// Functions of the system that Swift does not see: they are behind feature macros, or have a number and no name.
#ifndef PORTICO_WORKER_PROCESS_H
#define PORTICO_WORKER_PROCESS_H

// Readable when the process has ended. Closed by execution. -1 and errno before Linux 5.3.
int portico_pidfd_open(int process);

// Closed by execution; does not block. -1 and errno.
int portico_eventfd(void);

// A pipe whose ends are closed by execution: the one to read, which does not block, and the one to write. 0, or -1 and errno.
int portico_output_pipe(int ends[2]);

// Starts a program that has `input` as 0, `output` as 1 and 2, `socket` as 3, and no other descriptor, whatever flags
// those have; in a session of its own, with no signal blocked or ignored. The three must be above 3. Returns 0 or errno.
int portico_worker_spawn(
    int *process, const char *path, char *const *arguments, char *const *environment, int input, int output,
    int socket);

#endif
