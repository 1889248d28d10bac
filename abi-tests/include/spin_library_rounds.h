/* The body of spin/barrier_library*.c. */
#include "spin.h"
#include "spin_in_library.h"
#ifndef ROUNDS
#define ROUNDS 400
#endif
static int (*wait_for_change)(int *word, int old);

/* A barrier whose waiters sit in the library. How many of them found their errno or thread-local storage
 * changed. */
static int meet(struct spin_barrier *barrier, int size)
{
    int round = LOAD(barrier->round);
    if (ADD(barrier->arrived, 1) < size)
        return wait_for_change(&barrier->round, round);
    STORE(barrier->arrived, 0);
    STORE(barrier->round, round + 1);
    return 0;
}

int main(void)
{
    struct spin_barrier barrier = {0, 0};
    int n = omp_get_max_threads(), last = -1, changed = 0;
    void *library = load_library();
    if (library == NULL)
        return check_result();
    wait_for_change = (int (*)(int *, int))dlsym(library, "wait_for_change");
#pragma omp parallel shared(barrier, last) reduction(+ : changed)
    for (int round = 0; round < ROUNDS; round++) {
        errno = 1000 + omp_get_thread_num();
        if (omp_get_thread_num() == round % n)
            last = round; /* ordered by the barriers alone */
        changed += meet(&barrier, n);
        CHECK_EQ(last, round);
        changed += meet(&barrier, n);
        CHECK_EQ(errno, 1000 + omp_get_thread_num());
    }
    CHECK_EQ(changed, 0);
    CHECK_EQ(barrier.round, 2 * ROUNDS);
    return check_result();
}
