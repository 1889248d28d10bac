/* Sixteen threads on however many cores, each with variables of its own: `threadprivate`, `_Thread_local` and
   errno are per OpenMP thread, also where threads share a kernel thread, and threadprivate ones persist from
   one outermost region to the next. */
#include <errno.h>
#include <omp.h>
#include <stdio.h>

enum { THREADS = 16 };

static int own;
#pragma omp threadprivate(own)
static _Thread_local int also_own;

int main(void)
{
    int wrong = 0;
    omp_set_dynamic(0);
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
    {
        own = omp_get_thread_num() + 100;
        also_own = own;
        errno = own;
#pragma omp barrier
        wrong += own != omp_get_thread_num() + 100 || also_own != own || errno != own;
    }
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
    wrong += own != omp_get_thread_num() + 100;
    printf("%d threads, %d wrong\n", THREADS, wrong);
    return wrong;
}
