// what: threads that have reached the end of their region before it made tasks run these in the floating-point mode that they had then
// compilers: gcc,clang>=19
// mode: preload
// threads: 2,6,17
#include "modes.h"

static int leaving;

/* Most threads are at the end of the region by now. */
static void let_others_leave(void)
{
    while (__atomic_load_n(&leaving, __ATOMIC_ACQUIRE) < omp_get_num_threads() - 1) {
#pragma omp taskyield
    }
    for (double end = omp_get_wtime() + 0.002; omp_get_wtime() < end;) {
#pragma omp taskyield
    }
}

static void work(struct modes *modes, unsigned seed)
{
    LOOK(modes);
    if (seed % 4 == 0)
        change(modes, seed);
    for (double end = omp_get_wtime() + 0.0002; omp_get_wtime() < end;)
        ;
    LOOK(modes);
}

int main(void)
{
    struct modes modes = {{0}};
    int initial = mode_now();
    for (int round = 0; round < 10; round++) {
        leaving = 0;
#pragma omp parallel
        {
            change(&modes, omp_get_thread_num() + round);
            if (omp_get_thread_num() == 0) {
                let_others_leave();
                for (unsigned i = 0; i < 40; i++) {
#pragma omp task firstprivate(i)
                    work(&modes, i);
                }
            } else {
                __atomic_fetch_add(&leaving, 1, __ATOMIC_RELEASE);
            }
        }
        put_mode(initial);
    }
    return check_result();
}
