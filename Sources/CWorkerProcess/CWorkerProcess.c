#define _GNU_SOURCE
#include "CWorkerProcess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0x80
#endif

int portico_pidfd_open(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int portico_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int portico_output_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    // The description of the end to write is another one: the worker's writes wait.
    return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

int portico_worker_spawn(
    int *process, const char *path, char *const *arguments, char *const *environment, int input, int output,
    int socket) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int result = posix_spawn_file_actions_init(&files);
    if (result != 0) return result;
    result = posix_spawnattr_init(&attributes);
    if (result != 0) return posix_spawn_file_actions_destroy(&files), result;
    sigemptyset(&none);
    sigfillset(&all);
    (void)(
        (result = posix_spawn_file_actions_adddup2(&files, input, 0)) ||
        (result = posix_spawn_file_actions_adddup2(&files, output, 1)) ||
        (result = posix_spawn_file_actions_adddup2(&files, output, 2)) ||
        (result = posix_spawn_file_actions_adddup2(&files, socket, 3)) ||
        (result = posix_spawn_file_actions_addclosefrom_np(&files, 4)) ||
        (result = posix_spawnattr_setsigmask(&attributes, &none)) ||
        (result = posix_spawnattr_setsigdefault(&attributes, &all)) ||
        (result = posix_spawnattr_setflags(
             &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)) ||
        (result = posix_spawn(process, path, &files, &attributes, arguments, environment)));
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return result;
}
