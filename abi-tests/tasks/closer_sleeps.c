// what: the thread that arrives last at a barrier sleeps while the last task runs elsewhere
// threads: 2,4
// alone: yes
#include "check.h"
#include <sys/resource.h>
#include <unistd.h>

/* Milliseconds of processor time of the calling kernel thread. */
static long used(void)
{
    struct rusage usage;
    getrusage(1 /* RUSAGE_THREAD */, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

int main(void)
{
    int begun = 0;
    long took = 0;
#pragma omp parallel num_threads(omp_get_max_threads())
    {
#pragma omp masked
        {
#pragma omp task shared(begun)
            {
#pragma omp atomic write
                begun = 1;
                sleep(1);
            }
            int seen = 0;
            while (!seen)
#pragma omp atomic read
                seen = begun;
            took = -used();
        }
#pragma omp barrier
#pragma omp masked
        took += used();
    }
    CHECK(took >= 0);
    CHECK(took < 400); /* the peers look for up to 200 ms before they sleep */
    return check_result();
}
