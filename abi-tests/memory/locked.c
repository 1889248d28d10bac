// what: after mlockall, a team of two locks the stack of its second thread, and little beside it: the stacks of a kernel thread and of signal handlers
// threads: 2
// env: OMP_STACKSIZE=4M
// peers: libomp fails, because its threads have heaps of their own, for which the C library reserves 64 MiB
// compilers: gcc, clang>=19
// mode: preload, link

#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Kibibytes. */
static long locked(void)
{
    char line[256];
    long value = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "VmLck:", 6))
            value = atol(line + 6);
    if (status)
        fclose(status);
    return value;
}

int main(void)
{
    int count = 0;
    locked(); /* what the C library allocates for files */
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
        /* Not allowed here, or the limit is lower than what the program has already. */
        return errno == EPERM || errno == ENOMEM || errno == EAGAIN ? 0 : 1;
    }
    long before = locked();
#pragma omp parallel num_threads(2) reduction(+ : count)
    count++;
    long grown = locked() - before;
    if (count != 2 || grown > (4 << 10) + 1280) {
        printf("%d threads locked %ld KiB\n", count, grown);
        return 1;
    }
    return 0;
}
