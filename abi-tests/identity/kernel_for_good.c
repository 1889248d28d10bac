// what: what cannot be undone, or is more than a number (a filter of system calls, rights, namespaces, deadlines), is done to the thread that asks for it alone, in that region and in the next ones
// threads: 2,3,6,17
// timeout: 60
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"

enum { ROUNDS = 10, REGIONS = 3, KINDS = 5, DEADLINE = 6 };
/* struct sched_attr, which the C library does not have. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
static const char *const names[KINDS] = {"no_new_privs", "file system", "filter", "capabilities", "deadline"};
static int kept;
#pragma omp threadprivate(kept)

/* 1: the calling kernel thread has it, 0: it has not. */
static int has(int kind)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[2];
    char directory[4096];
    switch (kind) {
    case 0: return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    case 1: return getcwd(directory, sizeof directory) && !strcmp(directory, "/proc");
    case 2: return syscall(SYS_getpgid, 0) == -1 && errno == EXDEV;
    case 3: return syscall(SYS_capget, &header, rights) == 0 && !(rights[0].effective & 1u << CAP_CHOWN);
    default: return sched_getscheduler(0) == DEADLINE;
    }
}

static int do_for_good(int kind)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[2];
    struct attributes deadline = {sizeof deadline, DEADLINE, 0, 0, 0, 1000000, 100000000, 100000000};
    switch (kind) {
    case 0: return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    case 1: return unshare(CLONE_FS) || chdir("/proc");
    case 2: return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    case 3:
        if (syscall(SYS_capget, &header, rights))
            return -1;
        rights[0].effective &= ~(1u << CAP_CHOWN);
        rights[0].permitted &= ~(1u << CAP_CHOWN);
        return (int)syscall(SYS_capset, &header, rights);
    default: return (int)syscall(SYS_sched_setattr, 0, &deadline, 0);
    }
}

int main(void)
{
    int before[KINDS], refused[KINDS] = {0}, wrong[KINDS] = {0}, wrong_storage = 0;
    for (int kind = 0; kind < KINDS; kind++)
        before[kind] = has(kind);
#pragma omp parallel
    kept = 100 + omp_get_thread_num();
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            for (int kind = 0; kind < KINDS; kind++) {
                /* With two threads thread 0 asks for every second kind. */
                int asks = (kind + 1) % n == me;
                if (region == 0 && asks)
                    refused[kind] = do_for_good(kind) != 0;
#pragma omp barrier
                for (int round = 0; round < ROUNDS; round++) {
                    int right = has(kind) == (before[kind] || (asks && !refused[kind]));
                    if (!right)
#pragma omp atomic
                        wrong[kind]++;
#pragma omp barrier
                }
            }
            if (kept != 100 + me)
#pragma omp atomic
                wrong_storage++;
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (before[kind] || refused[kind])
            printf("%s: %s\n", names[kind], before[kind] ? "was there before" : "not for this user");
        if (wrong[kind])
            printf("%s: %d wrong\n", names[kind], wrong[kind]);
        CHECK_EQ(wrong[kind], 0);
    }
    CHECK_EQ(wrong_storage, 0);
    return check_result();
}
