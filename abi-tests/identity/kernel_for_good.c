// what: after a thread has done what cannot be undone to its kernel thread, threads of the next regions have kernel threads of their own, and it stays with that thread
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

enum { MOST = 64 };
static int kept;
#pragma omp threadprivate(kept)

/* The number of the kernel thread, whatever the runtime says. */
static long kernel_thread(void)
{
    char link[32];
    ssize_t length = readlink("/proc/thread-self", link, sizeof link - 1);
    link[length < 0 ? 0 : length] = 0;
    char *last = strrchr(link, '/');
    return last ? atol(last + 1) : -1;
}

int main(void)
{
    long numbers[MOST] = {0};
    int threads = 0, wrong = 0;
#pragma omp parallel
    kept = 100 + omp_get_thread_num();
#pragma omp parallel
#pragma omp single
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    /* from here on each has its own */
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        numbers[me] = kernel_thread();
#pragma omp single
        threads = omp_get_num_threads();
        if (me == 1)
            syscall(SYS_unshare, 0x200); /* CLONE_FS */
#pragma omp barrier
#pragma omp critical
        wrong += numbers[me] != kernel_thread() || kept != 100 + me;
    }
    for (int t = 0; t < threads; t++)
        for (int u = 0; u < t; u++)
            wrong += numbers[t] == numbers[u];
    CHECK_EQ(wrong, 0);
    CHECK(threads >= 1 && numbers[0] > 0);
    return check_result();
}
