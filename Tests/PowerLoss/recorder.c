// Preloaded into a process that writes a store: records what it writes and syncs, in the order in which it happens, and
// makes calls fail when told to. Of interest are files whose name holds "/store.sqlite" (not "-shm") and "/ledger".
//
//     RECORDER_TRACE    where the record goes; none: nothing is recorded
//     RECORDER_FAULTS   a file of two 32-bit numbers, mapped: the errno that writes and that syncs of the store fail with
//
// A record: kind (W write, T truncate, S sync, L ledger), file (D database, W its log), offset, length as 64-bit numbers,
// then the bytes. A lock keeps the order of the records that of the calls; a write is recorded before it is answered, a
// sync only after it succeeded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DESCRIPTORS = 4096 };
static char files[DESCRIPTORS];  // 0: not of interest
static int trace = -1;
static volatile int32_t *faults;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("RECORDER_TRACE");
    if (path) trace = REAL(open64)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    path = getenv("RECORDER_FAULTS");
    if (!path) return;
    int file = REAL(open64)(path, O_RDWR | O_CLOEXEC);
    void *map = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) faults = map;
}

static void put(const void *bytes, size_t count) {
    const char *next = bytes;
    while (count > 0) {
        ssize_t done = REAL(write)(trace, next, count);
        if (done <= 0) abort();
        next += done;
        count -= done;
    }
}

static void record(char kind, char file, uint64_t offset, const void *bytes, uint64_t length) {
    if (trace < 0) return;
    char head[18] = {kind, file};
    memcpy(head + 2, &offset, 8);
    memcpy(head + 10, &length, 8);
    put(head, sizeof head);
    if (bytes) put(bytes, length);
}

static char of_interest(const char *path) {
    const char *store = strstr(path, "/store.sqlite");
    if (store) return !strcmp(store, "/store.sqlite") ? 'D' : !strcmp(store, "/store.sqlite-wal") ? 'W' : 0;
    return strstr(path, "/ledger") ? 'L' : 0;
}

static char file_of(int descriptor) { return descriptor >= 0 && descriptor < DESCRIPTORS ? files[descriptor] : 0; }

static int opened(const char *path, int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS) files[descriptor] = of_interest(path);
    return descriptor;
}

static int fails(char file, int which) {
    if (!faults || (file != 'D' && file != 'W') || !faults[which]) return 0;
    errno = faults[which];
    return 1;
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return opened(path, REAL(open64)(path, flags, mode));
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return opened(path, REAL(open)(path, flags, mode));
}

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS) files[descriptor] = 0;
    return REAL(close)(descriptor);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    char file = file_of(descriptor);
    if (fails(file, 0)) return -1;
    if (file != 'D' && file != 'W') return REAL(pwrite64)(descriptor, bytes, count, offset);
    pthread_mutex_lock(&order);
    ssize_t done = REAL(pwrite64)(descriptor, bytes, count, offset);
    if (done > 0) record('W', file, offset, bytes, done);
    pthread_mutex_unlock(&order);
    return done;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (file_of(descriptor) != 'L') return REAL(write)(descriptor, bytes, count);
    pthread_mutex_lock(&order);
    record('L', 'L', 0, bytes, count);
    ssize_t done = REAL(write)(descriptor, bytes, count);
    pthread_mutex_unlock(&order);
    return done;
}

int ftruncate64(int descriptor, off64_t length) {
    char file = file_of(descriptor);
    if (fails(file, 0)) return -1;
    if (!file) return REAL(ftruncate64)(descriptor, length);
    pthread_mutex_lock(&order);
    int result = REAL(ftruncate64)(descriptor, length);
    if (!result) record('T', file, length, 0, 0);
    pthread_mutex_unlock(&order);
    return result;
}

static int synced(int descriptor, int (*sync)(int)) {
    char file = file_of(descriptor);
    if (fails(file, 1)) return -1;
    if (!file) return sync(descriptor);
    pthread_mutex_lock(&order);
    // With a record the images are rebuilt from, the real sync would only cost time.
    int result = trace < 0 ? sync(descriptor) : 0;
    if (!result) record('S', file, 0, 0, 0);
    pthread_mutex_unlock(&order);
    return result;
}

int fsync(int descriptor) { return synced(descriptor, REAL(fsync)); }
int fdatasync(int descriptor) { return synced(descriptor, REAL(fdatasync)); }
