// A worker that misbehaves as its argument says. Without a fault it answers each byte of the host's socket with the same
// byte, until the socket is closed. Attempts print one line each: what, and what came of it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void attempt(const char *what, long result) {
    printf("%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "possible");
    fflush(stdout);
}

static void *nothing(void *context) { return context; }

static int run_child(void *context) { (void)context; return 0; }

static void try_processes(void) {
    static char stack[65536];
    char *const arguments[] = {"/bin/true", NULL};
    char *const environment[] = {NULL};
    long child = fork();
    if (child == 0) _exit(0);
    attempt("fork", child);
    child = vfork();
    if (child == 0) _exit(0);
    attempt("vfork", child);
    attempt("clone", clone(run_child, stack + sizeof stack, SIGCHLD, NULL));
    long long clone3[11] = {0};
    clone3[4] = SIGCHLD;
    child = syscall(435, clone3, 64);
    if (child == 0) _exit(0);
    attempt("clone3", child);
    attempt("execve", execve("/bin/true", arguments, environment));
    attempt("execveat", syscall(SYS_execveat, AT_FDCWD, "/bin/true", arguments, environment, 0));
    pthread_t thread;
    int made = pthread_create(&thread, NULL, nothing, NULL);
    if (made == 0) pthread_join(thread, NULL);
    errno = made;
    attempt("thread", made == 0 ? 0 : -1);
}

static void try_others(int host) {
    attempt("signal the host", kill(host, 0));
    attempt("signal a thread of the host", syscall(SYS_tkill, host, 0));
    attempt("signal all", kill(-1, 0));
    attempt("signal itself", kill(getpid(), 0));
    attempt("trace the host", ptrace(PTRACE_ATTACH, host, 0, 0));
    attempt("open the host by pidfd", syscall(434, host, 0));
    struct rlimit limit = {1 << 20, 1 << 20};
    attempt("limit the host", prlimit(host, RLIMIT_CORE, NULL, &limit));
    attempt("slow the host", setpriority(PRIO_PROCESS, (id_t)host, 5));
    attempt("slow all of the user", setpriority(PRIO_USER, 0, 1));
    attempt("slow the group", setpriority(PRIO_PGRP, 0, 1));
    attempt("own signals by descriptor", fcntl(3, F_SETOWN, host));
    attempt("shared memory", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    attempt("memory file", syscall(SYS_memfd_create, "x", 0));
    attempt("io_uring", syscall(425, 1, NULL));
    attempt("bpf", syscall(SYS_bpf, 0, NULL, 0));
    attempt("keyring", syscall(SYS_keyctl, 0, -3, 0));
    attempt("namespace", unshare(CLONE_NEWUSER));
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", host);
    attempt("read the host's environment", open(path, O_RDONLY));
    attempt("gain privileges", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static void try_network(void) {
    attempt("inet", socket(AF_INET, SOCK_STREAM, 0));
    attempt("inet6", socket(AF_INET6, SOCK_DGRAM, 0));
    attempt("unix", socket(AF_UNIX, SOCK_STREAM, 0));
    attempt("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    int pair[2];
    attempt("datagram pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    attempt("stream pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static void try_watching(void) {
#ifdef SYS_inotify_init
    attempt("inotify_init", syscall(SYS_inotify_init));
#endif
    attempt("inotify_init1", syscall(SYS_inotify_init1, 0));
    attempt("inotify_add_watch", syscall(SYS_inotify_add_watch, 0, "/", 0x100));
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    attempt("dnotify", fcntl(folder, F_NOTIFY, DN_CREATE));
    close(folder);
    attempt("fanotify_init", syscall(SYS_fanotify_init, 0x200, 0));
}

static void try_files(const char *outside) {
    attempt("read outside", open(outside, O_RDONLY));
    attempt("write outside", open(outside, O_WRONLY));
    attempt("truncate outside", truncate(outside, 0));
    attempt("chmod outside", chmod(outside, 0777));
    attempt("remove outside", unlink(outside));
    attempt("read accounts", open("/etc/passwd", O_RDONLY));
    attempt("write in memory", open("/dev/shm/portico-hostile", O_WRONLY | O_CREAT, 0600));
    int file = open("own", O_RDWR | O_CREAT, 0600);
    attempt("lease", fcntl(file, F_SETLEASE, F_WRLCK));
    attempt("delegation", fcntl(file, 1040 /* F_SETDELEG */, 0));
    attempt("write inside", file);
    if (file >= 0) attempt("write to the file", write(file, "x", 1));
    attempt("rename outside", rename("own", outside));
    attempt("link outside", link(outside, "linked"));
    attempt("remove inside", unlink("own"));
}

static void list_descriptors(void) {
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        if (fcntl(descriptor, F_GETFD) >= 0) printf("descriptor %d\n", descriptor);
    fflush(stdout);
}

// It answers heartbeats (`p`) and no calls.
static int is_stalled = 0;

static void *spin(void *context) {
    (void)context;
    for (;;) __asm__ volatile("");
}

static void *sleep_on(void *context) {
    (void)context;
    for (;;) pause();
}

// Threads with small stacks, so that no limit of memory ends it first.
static void bomb(void) {
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    for (int at = 0; at < 200; at++) pthread_create(&thread, &small, sleep_on, NULL);
    for (;;) pause();
}

// Capital letters are orders: what a worker may do in the middle of its work.
static void obey(char order) {
    switch (order) {
    case 'K': kill(getpid(), SIGKILL); break;
    case 'T': __builtin_trap();
    case 'X': _exit(3);
    case 'H': for (;;) pause();
    case 'S': for (;;) __asm__ volatile("");
    case 'C': close(3); for (;;) pause();
    case 'M': while (malloc(1 << 20) != NULL) {} abort();
    case 'B': bomb();
    case 'Z': is_stalled = 1; break;
    case 'Q': {
        pthread_t thread;
        is_stalled = pthread_create(&thread, NULL, spin, NULL) == 0;
        break;
    }
    default: break;
    }
}

static void echo(void) {
    char byte;
    while (read(3, &byte, 1) == 1) {
        obey(byte);
        if (is_stalled && byte != 'p') continue;
        if (write(3, &byte, 1) != 1) return;
    }
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "serve";
    int host = getppid();
    if (strcmp(mode, "processes") == 0) try_processes();
    else if (strcmp(mode, "others") == 0) try_others(host);
    else if (strcmp(mode, "network") == 0) try_network();
    else if (strcmp(mode, "watching") == 0) try_watching();
    else if (strcmp(mode, "files") == 0) try_files(count > 2 ? arguments[2] : "/");
    else if (strcmp(mode, "descriptors") == 0) list_descriptors();
    else if (strcmp(mode, "environment") == 0) {
        for (char **entry = environ; *entry != NULL; entry++) printf("%s\n", *entry);
        char folder[4096];
        printf("in %s, session of its own: %s\n", getcwd(folder, sizeof folder), getsid(0) == getpid() ? "yes" : "no");
        struct rlimit limit;
        getrlimit(RLIMIT_CORE, &limit);
        printf("core files: %ld\n", (long)limit.rlim_max);
        fflush(stdout);
    } else if (strcmp(mode, "kill") == 0) kill(getpid(), SIGKILL);
    else if (strcmp(mode, "trap") == 0) __builtin_trap();
    else if (strcmp(mode, "exit") == 0) return count > 2 ? atoi(arguments[2]) : 1;
    else if (strcmp(mode, "hang") == 0) for (;;) pause();
    else if (strcmp(mode, "spin") == 0) for (;;) __asm__ volatile("");
    else if (strcmp(mode, "stubborn") == 0) {
        signal(SIGTERM, SIG_IGN);
        printf("ignores SIGTERM\n");
        fflush(stdout);
        for (;;) pause();
    } else if (strcmp(mode, "close") == 0) {
        close(3);
        for (;;) pause();
    } else if (strcmp(mode, "memory") == 0) {
        size_t size = (size_t)10 << 30;
        void *memory = malloc(size);
        attempt("10 GB", memory == NULL ? -1 : 0);
        size_t taken = 0;
        for (void *block; (block = malloc(1 << 20)) != NULL && taken < ((size_t)10 << 30); taken += 1 << 20) memset(block, 1, 1 << 20);
        printf("in pieces: %zu MiB\n", taken >> 20);
        fflush(stdout);
    } else if (strcmp(mode, "flood") == 0) {
        static char line[1 << 16];
        memset(line, 'x', sizeof line);
        for (size_t at = 0; at < sizeof line; at += 100) line[at] = '\n';
        for (int at = 0; at < (100 << 20) / (int)sizeof line; at++)
            if (write(1, line, sizeof line) < 0) return 1;
        return 7;
    } else if (strcmp(mode, "garbage") == 0) {
        unsigned state = 1;
        for (int at = 0; at < 4096; at++) {
            state = state * 1664525 + 1013904223;
            unsigned char byte = (unsigned char)(state >> 24);
            if (write(1, &byte, 1) != 1 || write(3, &byte, 1) != 1) return 1;
        }
        echo();
    } else echo();
    return 0;
}
