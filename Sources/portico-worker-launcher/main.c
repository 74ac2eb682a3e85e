// Becomes an adapter's worker program, with limits and without what a worker does not need.
//
//   portico-worker-launcher --parent PID --folder DIR [--read PATH]… [--list DIR]… [--close PATH]… [--memory BYTES] [--file BYTES]
//       [--descriptors N] [--processes N] [--cpu-seconds N] [--sandbox require|warn|off] -- PROGRAM [ARGUMENT]…
//
// Descriptor 3 is the socket to the host; 0, 1 and 2 are what the host has made of them; all others are closed. The
// environment is passed on. What is refused is said in one line on descriptor 2, and the exit status is 125 (before the
// program) or 127 (the program cannot be executed). Decision 0415.
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_close_range
#define __NR_close_range 436
#endif

enum { HOST_SOCKET = 3, MOST_READABLE = 64, MOST_LISTABLE = 4, INTERPRETER_LINE = 256 };

// Address space beyond the memory limit: files and libraries that are mapped, and what allocators reserve.
static const rlim_t ADDRESS_ALLOWANCE = (rlim_t)4 << 30;

struct options {
    long parent;
    const char *folder;
    const char *readable[MOST_READABLE];
    int readable_count;
    const char *listable[MOST_LISTABLE + 1]; // ends with NULL
    int listable_count;
    const char **closed; // ends with NULL
    rlim_t memory, file, descriptors, processes, cpu_seconds;
    enum { SANDBOX_REQUIRE, SANDBOX_WARN, SANDBOX_OFF } sandbox;
    char **program;
};

static void say(const char *kind, const char *format, va_list values) {
    char line[512];
    int length = snprintf(line, sizeof line, "portico-worker-launcher: %s", kind);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, values);
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length) < 0) return;
}

static void warn(const char *format, ...) {
    va_list values;
    va_start(values, format);
    say("warning: ", format, values);
    va_end(values);
}

static _Noreturn void refuse(const char *format, ...) {
    va_list values;
    va_start(values, format);
    say("", format, values);
    va_end(values);
    _exit(125);
}

static uint64_t number(const char *name, const char *text) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || text[0] == '-') refuse("%s takes a number", name);
    return value;
}

static struct options read_options(int count, char **arguments) {
    struct options options = {.sandbox = SANDBOX_WARN, .closed = calloc((size_t)count + 1, sizeof(char *))};
    if (options.closed == NULL) refuse("there is no memory");
    int at = 1, closed_count = 0;
    for (; at < count && strcmp(arguments[at], "--") != 0; at += 2) {
        const char *name = arguments[at], *value = at + 1 < count ? arguments[at + 1] : NULL;
        if (value == NULL) refuse("%s needs a value", name);
        if (strcmp(name, "--parent") == 0) {
            options.parent = (long)number(name, value);
        } else if (strcmp(name, "--folder") == 0) {
            options.folder = value;
        } else if (strcmp(name, "--read") == 0) {
            if (options.readable_count == MOST_READABLE) refuse("too many readable paths");
            options.readable[options.readable_count++] = value;
        } else if (strcmp(name, "--list") == 0) {
            if (options.listable_count == MOST_LISTABLE) refuse("too many listable folders");
            options.listable[options.listable_count++] = value;
        } else if (strcmp(name, "--close") == 0) {
            // As many as there are arguments have a place.
            options.closed[closed_count++] = value;
        } else if (strcmp(name, "--memory") == 0) {
            options.memory = number(name, value);
        } else if (strcmp(name, "--file") == 0) {
            options.file = number(name, value);
        } else if (strcmp(name, "--descriptors") == 0) {
            options.descriptors = number(name, value);
        } else if (strcmp(name, "--processes") == 0) {
            options.processes = number(name, value);
        } else if (strcmp(name, "--cpu-seconds") == 0) {
            options.cpu_seconds = number(name, value);
        } else if (strcmp(name, "--sandbox") == 0) {
            if (strcmp(value, "require") == 0) options.sandbox = SANDBOX_REQUIRE;
            else if (strcmp(value, "warn") == 0) options.sandbox = SANDBOX_WARN;
            else if (strcmp(value, "off") == 0) options.sandbox = SANDBOX_OFF;
            else refuse("--sandbox takes require, warn or off");
        } else {
            refuse("unknown option %s", name);
        }
    }
    if (at + 1 >= count) refuse("a program is needed after --");
    if (options.folder == NULL || options.folder[0] != '/') refuse("--folder takes an absolute path");
    if (arguments[at + 1][0] != '/') refuse("the program's path must be absolute");
    options.program = arguments + at + 1;
    return options;
}

// Whatever flags they have. The host closes them too; this is for hosts that cannot.
static void close_other_descriptors(void) {
    struct stat found;
    if (fstat(HOST_SOCKET, &found) != 0 || !S_ISSOCK(found.st_mode)) refuse("descriptor 3 is no socket");
    if (fcntl(HOST_SOCKET, F_SETFD, 0) != 0) refuse("descriptor 3: %s", strerror(errno));
    if (syscall(__NR_close_range, HOST_SOCKET + 1, UINT_MAX, 0) == 0) return;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) refuse("cannot count descriptors: %s", strerror(errno));
    // Before Linux 5.9. A descriptor above the limit exists only where the limit was lowered after it was opened.
    for (rlim_t descriptor = HOST_SOCKET + 1; descriptor < limit.rlim_cur && descriptor < INT_MAX; descriptor++)
        close((int)descriptor);
}

static void die_with(long parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) refuse("no parent-death signal: %s", strerror(errno));
    // The parent may have ended before the signal was asked for.
    if (getppid() != parent) refuse("the host has ended");
}

static void reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int signal = 1; signal < NSIG; signal++) sigaction(signal, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// Never above what the host itself may have. Zero: as it is.
static void limit(int resource, const char *name, rlim_t value) {
    struct rlimit now;
    if (value == 0) return;
    if (getrlimit((__rlimit_resource_t)resource, &now) != 0) refuse("limit of %s: %s", name, strerror(errno));
    if (value > now.rlim_max) value = now.rlim_max;
    struct rlimit wanted = {value, value};
    if (setrlimit((__rlimit_resource_t)resource, &wanted) != 0) refuse("limit of %s: %s", name, strerror(errno));
}

static void set_limits(const struct options *options) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) refuse("limit of core files: %s", strerror(errno));
    limit(RLIMIT_DATA, "memory", options->memory);
    if (options->memory > 0 && options->memory < RLIM_INFINITY - ADDRESS_ALLOWANCE)
        limit(RLIMIT_AS, "address space", options->memory + ADDRESS_ALLOWANCE);
    limit(RLIMIT_FSIZE, "a file's size", options->file);
    limit(RLIMIT_NOFILE, "descriptors", options->descriptors);
    limit(RLIMIT_CPU, "processor time", options->cpu_seconds);
}

// Where memory runs out, the kernel ends workers before the host.
static void prefer_for_memory_kill(void) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    if (write(file, "500", 3) < 0) warn("oom_score_adj: %s", strerror(errno));
    close(file);
}

// A host that runs as root hands nothing of that on but the user id.
static void drop_capabilities(void) {
    for (int capability = 0; capability <= 63; capability++)
        if (prctl(PR_CAPBSET_DROP, capability) != 0 && errno == EPERM) break;
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}}, found[2];
    if (syscall(SYS_capget, &header, found) != 0) refuse("capabilities: %s", strerror(errno));
    // A service manager may refuse the call below to a host that has none.
    if (memcmp(found, none, sizeof none) == 0) return;
    if (syscall(SYS_capset, &header, none) != 0) refuse("capabilities: %s", strerror(errno));
}

// The first word after `#!`, for which execution must be granted; empty where the program is no script.
static void read_interpreter(const char *program, char *interpreter) {
    char line[INTERPRETER_LINE + 1] = {0};
    interpreter[0] = 0;
    int file = open(program, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t length = read(file, line, INTERPRETER_LINE);
    close(file);
    if (length < 3 || line[0] != '#' || line[1] != '!') return;
    char *start = line + 2 + strspn(line + 2, " \t");
    start[strcspn(start, " \t\n\r")] = 0;
    strcpy(interpreter, start);
}

// `env` would be a second execution, which is refused.
static void refuse_env(const char *program, const char *interpreter) {
    if (strcmp(interpreter, "/usr/bin/env") == 0 || strcmp(interpreter, "/bin/env") == 0)
        refuse("%s names its interpreter by env; name it by its path, as in #!/usr/bin/python3", program);
}

// A kernel without the feature is what `warn` is for. Where it has it and something failed, as it may under a neighbour's
// load, the worker would have had the feature a moment later: it does not run without it now.
static void judge(const struct options *options, const char *what, struct sandbox_result result) {
    if (result.state == SANDBOX_DONE) return;
    if (result.state == SANDBOX_FAILED || options->sandbox == SANDBOX_REQUIRE)
        refuse("%s are not restricted: %s", what, result.reason);
    warn("%s are not restricted: %s", what, result.reason);
}

static void restrict_files(const struct options *options) {
    char interpreter[INTERPRETER_LINE + 1];
    read_interpreter(options->program[0], interpreter);
    refuse_env(options->program[0], interpreter);
    const char *program_files[] = {options->program[0], interpreter, NULL};
    judge(
        options, "files",
        sandbox_files(options->folder, program_files, options->readable, options->readable_count, options->listable, options->closed));
}

int main(int count, char **arguments) {
    struct options options = read_options(count, arguments);
    die_with(options.parent);
    if (getsid(0) != getpid() && setsid() < 0) refuse("no session of its own: %s", strerror(errno));
    close_other_descriptors();
    reset_signals();
    umask(077);
    if (chdir(options.folder) != 0) refuse("folder %s: %s", options.folder, strerror(errno));
    set_limits(&options);
    prefer_for_memory_kill();
    drop_capabilities();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) refuse("no_new_privs: %s", strerror(errno));
    if (options.sandbox != SANDBOX_OFF) {
        restrict_files(&options);
        judge(&options, "system calls", sandbox_system_calls());
    }
    // It counts the threads of all of the user's processes, and the sandbox has needed one.
    limit(RLIMIT_NPROC, "processes", options.processes);
    execv(options.program[0], options.program);
    int reason = errno;
    char interpreter[INTERPRETER_LINE + 1];
    read_interpreter(options.program[0], interpreter);
    // The kernel answers for the interpreter as for the program.
    if (interpreter[0] != 0)
        warn("%s cannot be executed by %s: %s", options.program[0], interpreter, strerror(reason));
    else
        warn("%s cannot be executed: %s", options.program[0], strerror(reason));
    _exit(127);
}
