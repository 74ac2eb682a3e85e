// Which files a worker may open. Source: landlock(7); the numbers are the kernel's interface and written down here,
// because the headers of a build machine may be older than the kernel that runs.
#define _GNU_SOURCE
#include "sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

// Whether a path is another one, or lies below it.
static bool is_within(const char *path, const char *folder) {
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

// Where the links of a path lead, its last part's too; what is not there keeps its names in the folder that is. Empty where that is
// too long, or no absolute path.
static void resolve(const char *path, char *resolved) {
    if (realpath(path, resolved) != NULL) return;
    resolved[0] = 0;
    const char *name = strrchr(path, '/');
    if (name == NULL) return;
    char parent[PATH_MAX], folder[PATH_MAX] = "";
    size_t length = (size_t)(name - path);
    if (length >= sizeof parent) return;
    memcpy(parent, path, length);
    parent[length] = 0;
    if (length > 0) {
        resolve(parent, folder);
        if (folder[0] == 0) return;
    }
    if (strlen(folder) + strlen(name) < PATH_MAX) stpcpy(stpcpy(resolved, folder), name);
}

// The same as `allow`, where nothing of what is closed lies in the path; else each of its entries, but for those that are closed.
// Names that are only there later are closed too then. Links are left out: what they lead to has rules of its own.
static int allow_but(int ruleset, const char *path, uint64_t rights, uint64_t known, char *const *closed) {
    bool is_whole = true;
    for (int at = 0; closed[at] != NULL; at++) {
        if (strcmp(path, closed[at]) == 0) return 0;
        if (is_within(closed[at], path)) is_whole = false;
    }
    if (is_whole) return allow(ruleset, path, rights, known);
    int failed = allow(ruleset, path, rights & READ_DIR, known);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, NULL);
    if (count < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? failed : -1;
    for (int at = 0; at < count; at++) {
        const char *name = entries[at]->d_name;
        char below[PATH_MAX];
        struct stat found;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        int length = snprintf(below, sizeof below, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
        if (length < 0 || (size_t)length >= sizeof below || lstat(below, &found) != 0 || S_ISLNK(found.st_mode)) continue;
        failed |= allow_but(ruleset, below, rights, known, closed);
    }
    return failed;
}

// A path as it is named, links resolved first.
static int allow_named(int ruleset, const char *path, uint64_t rights, uint64_t known, char *const *closed) {
    char resolved[PATH_MAX];
    if (realpath(path, resolved) == NULL) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    return allow_but(ruleset, resolved, rights, known, closed);
}

// Where all of them lie. Nothing is freed: the process is about to become another.
static char **resolved_paths(const char *const *paths) {
    size_t count = 0;
    while (paths[count] != NULL) count++;
    char **all = calloc(count + 1, sizeof *all);
    if (all == NULL) return NULL;
    size_t found = 0;
    for (size_t at = 0; at < count; at++) {
        char resolved[PATH_MAX];
        resolve(paths[at], resolved);
        if (resolved[0] != 0 && (all[found] = strdup(resolved)) != NULL) found++;
    }
    return all;
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
    const char *const *listable, const char *const *closed) {
    char **closed_files = resolved_paths(closed);
    if (closed_files == NULL) return (struct sandbox_result){SANDBOX_FAILED, "there is no memory"};
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
    for (int at = 0; at < readable_count; at++) failed |= allow_named(ruleset, readable[at], read, known, closed_files);
    for (int at = 0; listable[at] != NULL; at++) failed |= allow(ruleset, listable[at], READ_DIR, known);
    // The dynamic loader, which is one of them, is executed in the program's name.
    for (int at = 0; system_read[at] != NULL; at++)
        failed |= allow_named(ruleset, system_read[at], at < 6 ? read | EXECUTE : read, known, closed_files);
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
