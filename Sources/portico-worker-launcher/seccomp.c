// Which system calls a worker may make. What is refused are those that reach the network, other processes, files beside
// Landlock's rules, or much of the kernel's code; all others are as always, so that any language's runtime works.
// Source: seccomp(2), seccomp_unotify(2), Documentation/userspace-api/seccomp_filter.rst.
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filter is written for x86_64 and aarch64"
#endif

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1
#endif

// Calls of later kernels have one number on all architectures.
enum {
    IO_URING_SETUP = 425, IO_URING_ENTER = 426, IO_URING_REGISTER = 427, OPEN_TREE = 428, MOVE_MOUNT = 429,
    FSOPEN = 430, FSCONFIG = 431, FSMOUNT = 432, FSPICK = 433, PIDFD_OPEN = 434, CLONE3 = 435, PIDFD_GETFD = 438,
    PROCESS_MADVISE = 440, MOUNT_SETATTR = 442, QUOTACTL_FD = 443, MEMFD_SECRET = 447, PROCESS_MRELEASE = 448,
    FCHMODAT2 = 452, SETXATTRAT = 463, REMOVEXATTRAT = 466, OPEN_TREE_ATTR = 467, FILE_SETATTR = 469,
};

// EPERM, whatever their arguments.
static const int refused[] = {
    // The network, and local sockets with a name: those of others on this machine have no other protection.
    SYS_socket, SYS_bind, SYS_connect, SYS_listen, SYS_accept, SYS_accept4,
    // Other processes. They belong to the same user as the worker.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_tkill, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, PIDFD_OPEN, PIDFD_GETFD, PROCESS_MADVISE, PROCESS_MRELEASE,
    SYS_move_pages, SYS_migrate_pages, SYS_ioprio_set, SYS_perf_event_open,
    // Memory that no limit of a process counts, and memory that outlives it.
    SYS_memfd_create, MEMFD_SECRET, SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_semget, SYS_semop,
    SYS_semtimedop, SYS_semctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
    // What Landlock does not restrict: attributes of files that the user owns.
    SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR, SYS_utimensat,
    // What happens in folders that it may not open, with the names of their files.
    SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch, SYS_fanotify_init, SYS_fanotify_mark,
    // Namespaces, mounts, the machine.
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, OPEN_TREE, OPEN_TREE_ATTR, MOVE_MOUNT,
    FSOPEN, FSCONFIG, FSMOUNT, FSPICK, MOUNT_SETATTR, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_sethostname,
    SYS_setdomainname, SYS_acct, SYS_quotactl, QUOTACTL_FD, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
    SYS_adjtimex, SYS_syslog, SYS_vhangup, SYS_personality, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_kexec_load, SYS_kexec_file_load, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_lookup_dcookie, SYS_nfsservctl,
    // Large parts of the kernel.
    SYS_bpf, IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER, SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_userfaultfd,
#if defined(__x86_64__)
    SYS_fork, SYS_vfork, SYS_inotify_init, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_create_module,
#endif
};

// Their first argument is a process, which must be this one; those of the second table take 0 for it too.
static const int own_process[] = {SYS_kill, SYS_tgkill};
static const int own_process_or_zero[] = {
    SYS_prlimit64, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity,
};

// Signals of descriptors that go to a process of one's choice, leases of files, whose end a process that opens them for
// writing waits for, what happens in folders, and input for a terminal.
static const int refused_fcntl[] = {
    8 /* F_SETOWN */, 10 /* F_SETSIG */, 15 /* F_SETOWN_EX */, 1024 /* F_SETLEASE */, 1026 /* F_NOTIFY */,
    1040 /* F_SETDELEG */,
};
static const int refused_ioctl[] = {
    0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */, 0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */,
};

enum { MOST_INSTRUCTIONS = 512, LARGEST_NOTIFICATION = 1024, LISTENER_STACK = 64 << 10 };

struct filter {
    struct sock_filter code[MOST_INSTRUCTIONS];
    unsigned short length;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NUMBER offsetof(struct seccomp_data, nr)
#define ARGUMENT(at) (offsetof(struct seccomp_data, args) + 8 * (at)) // the low half: both architectures are little-endian
#define ERRNO(value) (SECCOMP_RET_ERRNO | (value))

static void add(struct filter *filter, struct sock_filter instruction) {
    if (filter->length < MOST_INSTRUCTIONS) filter->code[filter->length++] = instruction;
}

static void load(struct filter *filter, size_t offset) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void answer(struct filter *filter, uint32_t action) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void answer_if_equal(struct filter *filter, uint32_t value, uint32_t action) {
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(filter, action);
}

// What follows is for this call alone; returns where the jump past it stands, for `end_call`.
static unsigned short begin_call(struct filter *filter, int call) {
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0));
    return (unsigned short)(filter->length - 1);
}

static void end_call(struct filter *filter, unsigned short begin, uint32_t otherwise) {
    answer(filter, otherwise);
    filter->code[begin].jf = (uint8_t)(filter->length - begin - 1);
}

static void restrict_process(struct filter *filter, int call, uint32_t process, int zero_too) {
    unsigned short begin = begin_call(filter, call);
    load(filter, ARGUMENT(0));
    answer_if_equal(filter, process, SECCOMP_RET_ALLOW);
    if (zero_too) answer_if_equal(filter, 0, SECCOMP_RET_ALLOW);
    end_call(filter, begin, ERRNO(EPERM));
}

static void restrict_command(struct filter *filter, int call, const int *commands, size_t count) {
    unsigned short begin = begin_call(filter, call);
    load(filter, ARGUMENT(1));
    for (size_t at = 0; at < count; at++) answer_if_equal(filter, (uint32_t)commands[at], ERRNO(EPERM));
    end_call(filter, begin, SECCOMP_RET_ALLOW);
}

static void build(struct filter *filter) {
    uint32_t process = (uint32_t)getpid();
    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    answer(filter, SECCOMP_RET_KILL_PROCESS);
    load(filter, NUMBER);
#if defined(__x86_64__)
    // The calls of x32 have other numbers.
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
    answer(filter, SECCOMP_RET_KILL_PROCESS);
#endif
    // Once: see `sandbox_system_calls`.
    answer_if_equal(filter, SYS_execve, SECCOMP_RET_USER_NOTIF);
    answer_if_equal(filter, SYS_execveat, ERRNO(EPERM));
    for (size_t at = 0; at < COUNT(refused); at++) answer_if_equal(filter, (uint32_t)refused[at], ERRNO(EPERM));
    // Its flags are in memory, where a filter cannot read them. Without it, C libraries use clone.
    answer_if_equal(filter, CLONE3, ERRNO(ENOSYS));
    unsigned short begin = begin_call(filter, SYS_clone);
    load(filter, ARGUMENT(0));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
    answer(filter, SECCOMP_RET_ALLOW);
    end_call(filter, begin, ERRNO(EPERM));
    // A pair for datagrams could send to the name of another's socket.
    begin = begin_call(filter, SYS_socketpair);
    load(filter, ARGUMENT(0));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
    answer(filter, ERRNO(EPERM));
    load(filter, ARGUMENT(1));
    add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xF));
    answer_if_equal(filter, SOCK_STREAM, SECCOMP_RET_ALLOW);
    answer_if_equal(filter, SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
    end_call(filter, begin, ERRNO(EPERM));
    for (size_t at = 0; at < COUNT(own_process); at++) restrict_process(filter, own_process[at], process, 0);
    for (size_t at = 0; at < COUNT(own_process_or_zero); at++)
        restrict_process(filter, own_process_or_zero[at], process, 1);
    // Of one process, which must be this one: not of a group, or of all that the user has.
    begin = begin_call(filter, SYS_setpriority);
    load(filter, ARGUMENT(0));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PRIO_PROCESS, 1, 0));
    answer(filter, ERRNO(EPERM));
    load(filter, ARGUMENT(1));
    answer_if_equal(filter, process, SECCOMP_RET_ALLOW);
    answer_if_equal(filter, 0, SECCOMP_RET_ALLOW);
    end_call(filter, begin, ERRNO(EPERM));
    // Memory that is shared and has no file is not counted by the limit of private memory.
    begin = begin_call(filter, SYS_mmap);
    load(filter, ARGUMENT(3));
    add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_SHARED | MAP_ANONYMOUS));
    answer_if_equal(filter, MAP_SHARED | MAP_ANONYMOUS, ERRNO(EPERM));
    end_call(filter, begin, SECCOMP_RET_ALLOW);
    // It ends with the gateway, whatever it does.
    begin = begin_call(filter, SYS_prctl);
    load(filter, ARGUMENT(0));
    answer_if_equal(filter, PR_SET_PDEATHSIG, ERRNO(EPERM));
    end_call(filter, begin, SECCOMP_RET_ALLOW);
    restrict_command(filter, SYS_fcntl, refused_fcntl, COUNT(refused_fcntl));
    restrict_command(filter, SYS_ioctl, refused_ioctl, COUNT(refused_ioctl));
    answer(filter, SECCOMP_RET_ALLOW);
}

struct listener {
    int ready[2];
};

// Lets the one execution through. It ends with this thread and its descriptor, which is closed by the execution: nobody
// is there to let a second one through, and the kernel answers that with ENOSYS.
static void *let_one_execution_through(void *context) {
    struct listener *listener = context;
    int descriptor = -1;
    if (read(listener->ready[0], &descriptor, sizeof descriptor) != sizeof descriptor) return NULL;
    for (;;) {
        // A later kernel may write more than the structure that is known here.
        union {
            struct seccomp_notif message;
            char bytes[LARGEST_NOTIFICATION];
        } request;
        memset(&request, 0, sizeof request);
        if (ioctl(descriptor, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
            if (errno == EINTR || errno == ENOENT) continue;
            return NULL;
        }
        union {
            struct seccomp_notif_resp message;
            char bytes[LARGEST_NOTIFICATION];
        } response;
        memset(&response, 0, sizeof response);
        response.message.id = request.message.id;
        response.message.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(descriptor, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
}

static struct sandbox_result lacking(const char *reason) { return (struct sandbox_result){SANDBOX_LACKING, reason}; }

static struct sandbox_result failed(const char *reason) { return (struct sandbox_result){SANDBOX_FAILED, reason}; }

struct sandbox_result sandbox_system_calls(void) {
    static struct filter filter;
    static struct listener listener;
    pthread_t thread;
    build(&filter);
    if (filter.length >= MOST_INSTRUCTIONS) return failed("the filter is too long");
    // Before Linux 5.5 a listener cannot let a call continue.
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return lacking("the kernel has no seccomp listeners");
    if (sizes.seccomp_notif > LARGEST_NOTIFICATION || sizes.seccomp_notif_resp > LARGEST_NOTIFICATION)
        return lacking("the kernel's seccomp messages are unknown");
    if (pipe2(listener.ready, O_CLOEXEC) != 0) return failed("no pipe for the listener");
    // Made before the filter, so the filter does not bind it. Its stack counts as the worker's memory, whose limit holds.
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, LISTENER_STACK) != 0
        || pthread_create(&thread, &attributes, let_one_execution_through, &listener) != 0)
        return failed("no thread for the listener");
    struct sock_fprog program = {filter.length, filter.code};
    long descriptor = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (descriptor < 0)
        return errno == ENOMEM || errno == EMFILE || errno == ENFILE
                   ? failed("the kernel has no room for the filter")
                   : lacking("the kernel refuses the filter");
    int number = (int)descriptor;
    if (fcntl(number, F_SETFD, FD_CLOEXEC) != 0) return failed("the listener would be inherited");
    if (write(listener.ready[1], &number, sizeof number) != sizeof number) return failed("the listener does not start");
    return (struct sandbox_result){SANDBOX_DONE, NULL};
}
