// what: tasks that name data in an affinity clause run once each, and mostly in the thread that last ran one with the same data
// compilers: clang>=14
// threads: 2,3,4,8
// ours: other runtimes ignore the clause
// alone: yes
// timeout: 60
#include "check.h"
#include <unistd.h>
enum { BLOCKS = 48, ROUNDS = 3 };
static char block[BLOCKS][512] __attribute__((aligned(64)));
static int runs[BLOCKS], who[BLOCKS];

static void work(void)
{
    volatile int sink = 0;
    for (int k = 0; k < 20000; ++k)
        sink += k;
}

/* A random order. */
static void shuffle(int *order)
{
    static unsigned seed = 1;
    for (int i = 0; i < BLOCKS; ++i) {
        int at = (seed = seed * 1103515245 + 12345) / 65536 % (unsigned)(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

/* How often, in percent, a task runs in the thread that its data belong to: for each thread, then the mean of
   the threads. Who runs how many does not matter to it: without hints it is one part in as many as there are
   threads, on a quiet machine and on a busy one. */
static double hits(int hinted)
{
    int size = 1, homes[64] = {0}, at_home[64] = {0}, order[BLOCKS];
#pragma omp parallel
    for (int round = 0; round < ROUNDS; ++round) {
        int me = omp_get_thread_num();
#pragma omp single
        size = omp_get_num_threads();
        for (int i = me; i < BLOCKS; i += size)
#pragma omp task if (0) affinity(block[i])
            runs[i] = 0;
#pragma omp barrier
#pragma omp single
        {
            shuffle(order);
            for (int n = 0; n < BLOCKS; ++n) {
                int i = order[n];
                if (hinted) {
#pragma omp task affinity(block[i]) firstprivate(i)
                    work(), runs[i]++, who[i] = omp_get_thread_num();
                } else {
#pragma omp task firstprivate(i)
                    work(), runs[i]++, who[i] = omp_get_thread_num();
                }
            }
        }
#pragma omp single
        for (int i = 0; i < BLOCKS; ++i) {
            CHECK_EQ(runs[i], 1);
            homes[i % size]++;
            at_home[i % size] += who[i] == i % size;
        }
    }
    double sum = 0;
    for (int t = 0; t < size; ++t)
        sum += 100.0 * at_home[t] / homes[t] / size;
    return sum;
}

int main(void)
{
    /* On a busy machine threads lose their processors, and others take their tasks: the best of some tries
     * counts. */
    double most = 100.0 / omp_get_max_threads() + 25, best = 0;
    for (int try = 0; try < 400 && best < most; ++try) {
        double plain = hits(0), hinted = hits(1);
        if (getenv("SHOW_HITS"))
            fprintf(stderr, "%.0f %% without, %.0f %% with hints\n", plain, hinted);
        if (hinted > best)
            best = hinted;
        usleep(best < most ? 20000 : 0);
    }
    CHECK(best >= most);
    return check_result();
}
