// Which files a worker may open. Source: landlock(7); the numbers are the kernel's interface and written down here,
// because the headers of a build machine may be older than the kernel that runs.
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, VERSION_FLAG = 1, PATH_BENEATH = 1 };

#define EXECUTE (1ULL << 0)
#define WRITE_FILE (1ULL << 1)
#define READ_FILE (1ULL << 2)
#define READ_DIR (1ULL << 3)
#define IOCTL_DEV (1ULL << 15)
// From execute to make_sym.
#define RIGHTS_OF_VERSION_1 ((1ULL << 13) - 1)
#define REFER (1ULL << 13)
#define TRUNCATE (1ULL << 14)
#define BIND_AND_CONNECT_TCP 3ULL
#define ABSTRACT_SOCKETS_AND_SIGNALS 3ULL

// The first version that refuses to truncate files.
enum { NEEDED_VERSION = 3 };

struct ruleset {
    uint64_t files, network, scoped;
};

struct path_rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static uint64_t rights_of(long version) {
    uint64_t rights = RIGHTS_OF_VERSION_1;
    if (version >= 2) rights |= REFER;
    if (version >= 3) rights |= TRUNCATE;
    if (version >= 5) rights |= IOCTL_DEV;
    return rights;
}

// What is not there needs no right.
static int allow(int ruleset, const char *path, uint64_t rights, uint64_t known) {
    int opened = open(path, O_PATH | O_CLOEXEC);
    if (opened < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    struct stat found;
    if (fstat(opened, &found) != 0) return close(opened), -1;
    if (!S_ISDIR(found.st_mode)) rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    struct path_rule rule = {rights & known, opened};
    long result = syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
    close(opened);
    return (int)result;
}

// Libraries and their cache, time zones, devices without content, the worker's own figures, the count of processors, what a
// runtime with OpenSSL reads as it starts (/usr/lib/ssl links to it). Private keys are in /etc/ssl/private, which is not.
static const char *const system_read[] = {
    "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/random", "/dev/urandom", "/proc/self",
    "/sys/devices/system/cpu", "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/usr/share/ca-certificates", NULL,
};

static struct sandbox_result lacking(const char *reason) { return (struct sandbox_result){SANDBOX_LACKING, reason}; }

struct sandbox_result sandbox_files(
    const char *folder, const char *const *programs, const char *const *readable, int readable_count,
    const char *const *listable) {
    long version = syscall(CREATE_RULESET, NULL, 0, VERSION_FLAG);
    if (version < 1) return lacking(errno == EOPNOTSUPP ? "Landlock is switched off" : "the kernel has no Landlock");
    uint64_t known = rights_of(version);
    struct ruleset rules = {.files = known};
    size_t size = sizeof rules.files;
    if (version >= 4) rules.network = BIND_AND_CONNECT_TCP, size += sizeof rules.network;
    if (version >= 6) rules.scoped = ABSTRACT_SOCKETS_AND_SIGNALS, size += sizeof rules.scoped;
    int ruleset = (int)syscall(CREATE_RULESET, &rules, size, 0);
    if (ruleset < 0) return (struct sandbox_result){SANDBOX_FAILED, "Landlock refuses the rules"};
    const uint64_t read = READ_FILE | READ_DIR;
    // Files that it writes are not executed.
    int failed = allow(ruleset, folder, known & ~(uint64_t)(EXECUTE | IOCTL_DEV), known);
    for (int at = 0; programs[at] != NULL && programs[at][0] != 0; at++)
        failed |= allow(ruleset, programs[at], READ_FILE | EXECUTE, known);
    for (int at = 0; at < readable_count; at++) failed |= allow(ruleset, readable[at], read, known);
    for (int at = 0; listable[at] != NULL; at++) failed |= allow(ruleset, listable[at], READ_DIR, known);
    // The dynamic loader, which is one of them, is executed in the program's name.
    for (int at = 0; system_read[at] != NULL; at++)
        failed |= allow(ruleset, system_read[at], at < 6 ? read | EXECUTE : read, known);
    failed |= allow(ruleset, "/dev/null", READ_FILE | WRITE_FILE, known);
    // libdispatch reads /proc/TID/stat of the threads that it has, and traps where it cannot. Their numbers are not known
    // here. What of other processes is not public (environ, maps, mem, fd), Landlock refuses as a kind of tracing.
    failed |= allow(ruleset, "/proc", READ_FILE, known);
    failed = failed || syscall(RESTRICT_SELF, ruleset, 0) != 0;
    close(ruleset);
    if (failed) return (struct sandbox_result){SANDBOX_FAILED, "Landlock refuses a rule"};
    if (version < NEEDED_VERSION) return lacking("the kernel's Landlock is older than version 3");
    return (struct sandbox_result){SANDBOX_DONE, NULL};
}
