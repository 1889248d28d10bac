/* The body of gang/hand_off*.c: threads of an outer region compute inside the C library, and sleep in the
 * kernel, for so long that those behind them are handed to other kernel threads; then a nested region's
 * threads meet in a spinning barrier, each on a worker again, and no more of them at once than there are
 * processors. */
#include "check.h"
#include "spin.h"
#include <unistd.h>
#ifndef BARRIERS
#define BARRIERS 300
#endif
enum { ROUNDS = 3, INNER = 4, WORDS = 100000, LENGTH = 8 };

/* Sorting strings with strcmp: both are the C library's, about 20 ms. */
static int sorts(unsigned seed)
{
    char(*words)[LENGTH] = malloc(sizeof *words * WORDS);
    int right = words != NULL;
    for (int i = 0; right && i < WORDS; i++) {
        for (int k = 0; k < LENGTH - 1; k++)
            words[i][k] = 'a' + (seed = seed * 1103515245u + 12345u) / 65536 % 26;
        words[i][LENGTH - 1] = 0;
    }
    if (right)
        qsort(words, WORDS, LENGTH, (int (*)(const void *, const void *))strcmp);
    for (int i = 1; right && i < WORDS; i++)
        right = strcmp(words[i - 1], words[i]) <= 0;
    free(words);
    return right;
}

static long meet(int id)
{
    struct spin_barrier barrier = {0, 0};
    long late = 0, counts[INNER] = {0};
#pragma omp parallel num_threads(INNER) shared(barrier, counts) reduction(+ : late)
    {
        int me = omp_get_thread_num(), size = omp_get_num_threads();
        for (int i = 1; i <= BARRIERS; i++) {
            STORE(counts[me], i);
            spin_wait(&barrier, size);
            late += LOAD(counts[(me + 1) % size]) < i;
        }
        late += omp_get_ancestor_thread_num(1) != id;
    }
    return late;
}

int main(void)
{
    omp_set_max_active_levels(2);
    for (int region = 0; region < 2; region++) {
        int n = omp_get_max_threads(), passed = 0;
#pragma omp parallel shared(passed)
        {
            int id = omp_get_thread_num();
            for (int round = 0; round < ROUNDS; round++) {
                CHECK(sorts(id + round + 1));
#if SLEEP_US
                usleep(SLEEP_US);
#endif
#pragma omp barrier
                if (id == round % omp_get_num_threads())
                    CHECK_EQ(meet(id), 0);
                ADD(passed, 1);
                if (round == 0) /* nobody else is looked for at this wait */
                    SPIN_UNTIL(LOAD(passed) >= omp_get_num_threads());
            }
        }
        CHECK_EQ(passed, n * ROUNDS);
    }
    return check_result();
}
