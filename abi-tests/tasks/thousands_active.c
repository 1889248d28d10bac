// what: lone tasks of 2,000 threads that never sleep are found: each thread makes one, and goes to a barrier, or to the end of the region
// threads: 8
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// timeout: 60
// env: OMP_WAIT_POLICY=active
// peers: libgomp fails, because a machine may refuse so many kernel threads that spin; libomp fails, because of the same

#include <omp.h>
#include <stdio.h>

enum { THREADS = 2000, REGIONS = 3 };
static long count;

static void make_one(void)
{
#pragma omp task
    {
#pragma omp atomic
        count++;
    }
}

int main(void)
{
    omp_set_dynamic(0);
    double start = omp_get_wtime();
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(THREADS)
        {
            make_one();
#pragma omp barrier
            make_one();
        }
    }
    double time = omp_get_wtime() - start;
    if (count != 2L * THREADS * REGIONS) {
        printf("%ld tasks ran, not %d\n", count, 2 * THREADS * REGIONS);
        return 1;
    }
    if (time > 20) {
        printf("%d regions took %.1f s\n", REGIONS, time);
        return 1;
    }
    return 0;
}
