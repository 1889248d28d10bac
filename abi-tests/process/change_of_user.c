// what: setegid and its family, which the C library makes known to every thread, while threads wear storage that is not their kernel thread's
// timeout: 30
#include "check.h"
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
enum { ROUNDS = 50 };
int main(void)
{
    int changed = 0, wrong = 0;
    volatile double sink = 0;
    for (int round = 0; round < ROUNDS; round++)
#pragma omp parallel
    {
        if (omp_get_thread_num() == round % omp_get_num_threads()) {
            gid_t group = getegid();
            if (setegid(group) != 0 || getegid() != group)
#pragma omp atomic
                wrong++;
#pragma omp atomic
            changed++;
        }
        /* others compute or wait meanwhile */
        if (omp_get_thread_num() % 2 == 0)
            for (double end = seconds() + 2e-4; seconds() < end;)
                sink = end;
#pragma omp barrier
#pragma omp single nowait
        if (setegid(getegid()) != 0)
#pragma omp atomic
            wrong++;
    }
    CHECK_EQ(changed, ROUNDS);
    CHECK_EQ(wrong, 0);
    (void)sink;
    return check_result();
}
