/* The body of identity/tasks*.c. */
#include "identity.h"
#include <pthread.h>
static int private_to_thread;
#pragma omp threadprivate(private_to_thread)
static const void *address[64], *errnos[64];
static pthread_t selves[64];
static int ran;
/* The identity of the code that runs is that of its thread. Compilers may take the address of a
 * thread-local to be the same in all of a function: hence the call. */
static __attribute__((noinline)) void verify(int id)
{
    __asm__ volatile("" ::: "memory");
    CHECK_EQ(omp_get_thread_num(), id);
    CHECK(address[id] == &private_to_thread);
    CHECK(errnos[id] == errno_now());
    CHECK(pthread_equal(selves[id], pthread_self()));
    CHECK_EQ(private_to_thread, id + 1);
}
static void tree(int depth)
{
    int id = omp_get_thread_num(); /* a tied task stays with its thread */
    verify(id);
    if (depth > 0) {
        for (int child = 0; child < 3; child++) {
#pragma omp task firstprivate(depth)
            tree(depth - 1);
        }
        verify(id);
#pragma omp taskyield
        verify(id);
#pragma omp taskwait
        verify(id);
    }
#pragma omp atomic
    ran++;
}
int main(void)
{
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        address[id] = &private_to_thread;
        errnos[id] = errno_now();
        selves[id] = pthread_self();
        private_to_thread = id + 1;
#pragma omp barrier
#pragma omp single
        {
#pragma omp task
            tree(4);
#pragma omp taskgroup
            {
#pragma omp task
                tree(4);
            }
        }
        verify(id);
    }
    CHECK_EQ(ran, 2 * (1 + 3 + 9 + 27 + 81));
    return check_result();
}
