/* For programs that run under one of the ways to give threads storage of their own (identity/modes.*): the
 * program itself takes away what the runtime could use, and asks what it has used. Included first. Every
 * build sees the same: nothing here asks the compiler. */
#ifndef STORAGE_H
#define STORAGE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ompx.h"
#ifdef __cplusplus
#define STORAGE_C extern "C"
#else
#define STORAGE_C
#endif

/* Takes the place of the C library's for this process (-rdynamic): with HIDES, as a kernel that does not
 * allow the instruction. */
STORAGE_C unsigned long getauxval(unsigned long what)
{
    Elf64_auxv_t item;
    unsigned long value = 0;
    int file = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, &item, sizeof item) == (ssize_t)sizeof item && item.a_type != AT_NULL)
        if (item.a_type == what)
            value = item.a_un.a_val;
    if (file >= 0)
        close(file);
    if (HIDES && what == 26 /* AT_HWCAP2 */)
        value &= ~2ul;
    return value;
}

/* With REFUSES, the system call that sets the thread pointer fails from here on, as in a container that
 * filters it. */
__attribute__((constructor)) static void storage_refuse(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (!REFUSES)
        return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("no filter for system calls");
        exit(2);
    }
}

/* How many kernel threads the runtime has made that lend their storage. */
static long storage_donors(void)
{
    ompx_counters_t counters = {0};
    size_t (*get)(ompx_counters_t *, size_t);
    *(void **)&get = dlsym(RTLD_DEFAULT, "ompx_get_counters");
    return get && get(&counters, sizeof counters) >=
                       offsetof(ompx_counters_t, donors) + sizeof counters.donors
               ? (long)counters.donors
               : -1;
}
#endif
