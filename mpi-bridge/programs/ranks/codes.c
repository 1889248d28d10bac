/* More regions than there are numbers for code on a rank, launched for the first time by several threads at
 * once, and again: each time the right one runs, with its own arguments, on the right rank. */
#include "device.h"
#include "ompx.h"

enum { CODES = 100, THREADS = 4, TIMES = 3 };

#pragma omp declare target
static long sums[CODES];
#pragma omp end declare target

#define REGION(n) \
    case n: \
        _Pragma("omp target device(d) firstprivate(much, more)") \
        { \
            _Pragma("omp atomic") sums[n] += much * (n + 1); \
            _Pragma("omp atomic") sums[n] += more; \
        } \
        break;
#define FIVE(n) REGION(n) REGION(n + 1) REGION(n + 2) REGION(n + 3) REGION(n + 4)
#define TWENTY(n) FIVE(n) FIVE(n + 5) FIVE(n + 10) FIVE(n + 15)

static void launch(int d, int number, int much, long more)
{
    switch (number) {
        TWENTY(0) TWENTY(20) TWENTY(40) TWENTY(60) TWENTY(80)
    }
}

int main(void)
{
    if (ompx_cluster_rank() != 0)
        return 0;
    EACH_DEVICE(d)
    {
        long got[CODES] = {0};
#pragma omp parallel num_threads(THREADS)
        for (int i = 0; i < TIMES * CODES; i++) {
            int thread = omp_get_thread_num();
            launch(d, (i + CODES / THREADS * thread) % CODES, 1 + thread, 1000L * i);
        }
#pragma omp target device(d) map(from : got)
        for (int n = 0; n < CODES; n++) {
            got[n] = sums[n];
            sums[n] = 0;
        }
        for (int n = 0; n < CODES; n++) {
            long wanted = 0;
            for (int thread = 0; thread < THREADS; thread++)
                for (int i = 0; i < TIMES * CODES; i++)
                    if ((i + CODES / THREADS * thread) % CODES == n)
                        wanted += (1 + thread) * (n + 1) + 1000L * i;
            CHECK_EQ(got[n], wanted);
        }
    }
    return check_result();
}
