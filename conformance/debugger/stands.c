/* Stands still where everything that a debugger has to show is there, and nothing moves: an outer team of 3,
   whose thread 1 has an inner team of 2 with one thread at a barrier and one waiting for a lock, whose thread
   2 has a task that waits for its child, which waits for the lock, and ready tasks in the deque of thread 0,
   who holds the lock and runs `stands_here`. With an argument it aborts there. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static omp_lock_t go;
static int at_barrier, child_begun;

__attribute__((noinline)) void stands_here(int aborts)
{
    if (aborts)
        abort();
    __asm__ volatile("" : : : "memory");
}

static int read_of(int *flag)
{
    int seen;
#pragma omp atomic read
    seen = *flag;
    return seen;
}

static void raise_flag(int *flag)
{
#pragma omp atomic write
    *flag = 1;
}

static void pass(void)
{
    omp_set_lock(&go);
    omp_unset_lock(&go);
}

__attribute__((noinline)) static void inner_region(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            raise_flag(&at_barrier);
        else
            pass();
#pragma omp barrier
    }
}

__attribute__((noinline)) static void task_that_waits(void)
{
#pragma omp task
    {
        raise_flag(&child_begun);
        pass();
    }
#pragma omp taskwait
}

/* Long enough for the library to look at it with a signal, at which a debugger must not stop. */
static void compute(double seconds)
{
    double end = omp_get_wtime() + seconds;
    while (omp_get_wtime() < end)
        ;
}

/* Until the others wait, and have stopped looking for something to do. */
static void settle(void)
{
    struct timespec a_while = {0, 2000000};
    compute(0.3);
    while (!read_of(&at_barrier) || !read_of(&child_begun)) {
#pragma omp taskyield
        nanosleep(&a_while, NULL);
    }
    for (int i = 0; i < 100; i++)
        nanosleep(&a_while, NULL);
}

int main(int argc, char **argv)
{
    int sum = 0;
    (void)argv;
    omp_init_lock(&go);
    omp_set_max_active_levels(2);
    omp_set_lock(&go);
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 1)
            inner_region();
        if (omp_get_thread_num() == 2) {
#pragma omp task
            task_that_waits();
#pragma omp taskwait
        }
        if (omp_get_thread_num() == 0) {
            settle();
            for (int i = 0; i < 5; i++) {
#pragma omp task shared(sum)
                {
                    pass();
#pragma omp atomic
                    sum += 1;
                }
            }
            settle();
            stands_here(argc > 1);
            omp_unset_lock(&go);
        }
    }
    printf("%s\n", sum == 5 ? "right" : "wrong");
    return sum == 5 ? 0 : 1;
}
