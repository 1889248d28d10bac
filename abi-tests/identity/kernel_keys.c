// what: each thread has its own rights of protection keys, whatever the threads beside it have, at barriers, where it spins, and in the next region; new threads have those of their maker
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"

enum { ROUNDS = 20 };
static volatile int turn;

/* What thread `me` may not do with memory under the key; 0: everything is allowed. */
static int wanted(int me)
{
    return me % 3 == 0 ? 0 : me % 3 == 1 ? PKEY_DISABLE_WRITE : PKEY_DISABLE_ACCESS;
}

int main(void)
{
    int key = pkey_alloc(0, 0), makers = pkey_alloc(0, PKEY_DISABLE_WRITE), wrong = 0, wrong_spinning = 0,
        wrong_at_first = 0, wrong_later = 0;
    if (key < 0 || makers < 0) {
        printf("no protection keys on this machine\n");
        // A team all the same: the library says in which mode threads have storage when it makes one.
#pragma omp parallel
        if (omp_get_num_threads() < 1)
            abort();
        CHECK(1);
        return check_result();
    }
    int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 42;
    CHECK_EQ(pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key), 0);
#pragma omp parallel reduction(+ : wrong, wrong_spinning, wrong_at_first)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        wrong_at_first += pkey_get(makers) != PKEY_DISABLE_WRITE || pkey_get(key) != 0;
        pkey_set(key, wanted(me));
        for (int round = 0; round < ROUNDS; round++) {
#pragma omp barrier
            wrong += pkey_get(key) != wanted(me);
            if (wanted(me) != PKEY_DISABLE_ACCESS)
                wrong += *page != 42;
        }
#pragma omp barrier
        /* Threads that share a worker are interrupted here. */
        while (turn != me)
            ;
        wrong_spinning += pkey_get(key) != wanted(me);
        turn = me + 1;
        while (turn < n)
            ;
        wrong_spinning += pkey_get(key) != wanted(me);
    }
#pragma omp parallel reduction(+ : wrong_later)
    wrong_later += pkey_get(key) != wanted(omp_get_thread_num());
    CHECK_EQ(wrong_later, 0);
    CHECK_EQ(wrong_at_first, 0);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(wrong_spinning, 0);
    return check_result();
}
