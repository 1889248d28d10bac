// what: functions that wait inside of regions of their own for functions that come later, many at once on @WORKERS@ workers
// each: WORKERS = 1 / 2 / 4
// env: GANGWAY_WORKERS=@WORKERS@
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,4
#include "check.h"
#include "ompx.h"

enum { MANY = 60, DEEP = 4 };

/* Threads of a region invoke and wait, each for one of the next depth. */
static void nest(const void *args, size_t bytes, ompx_result_t *result)
{
    int depth = *(const int *)args - 1, sum = 1;
    if (depth > 0) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
            ompx_future_t future;
            int value = 0;
            CHECK_EQ(ompx_invoke(0, nest, &depth, bytes, &future), 0);
            CHECK_EQ(ompx_future_get(future, &value, sizeof value), 0);
            CHECK_EQ(ompx_future_free(future), 0);
            sum += value;
        }
    }
    ompx_result_set(result, &sum, sizeof sum);
}

/* One thread makes tasks, all of which wait. */
static void tasks(const void *args, size_t bytes, ompx_result_t *result)
{
    int one = 1, sum = 0;
    (void)args;
    (void)bytes;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < MANY; i++)
#pragma omp task shared(sum)
    {
        ompx_future_t future;
        int value = 0;
        CHECK_EQ(ompx_invoke(0, nest, &one, sizeof one, &future), 0);
        CHECK_EQ(ompx_future_get(future, &value, sizeof value), 0);
        CHECK_EQ(ompx_future_free(future), 0);
#pragma omp atomic
        sum += value;
    }
    ompx_result_set(result, &sum, sizeof sum);
}

static void check(ompx_handler fn, int wanted)
{
    ompx_future_t futures[MANY];
    int depth = DEEP;
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(ompx_invoke(0, fn, &depth, sizeof depth, &futures[i]), 0);
    for (int i = 0; i < MANY; i++) {
        int value = 0;
        CHECK_EQ(ompx_future_get(futures[i], &value, sizeof value), 0);
        CHECK_EQ(ompx_future_free(futures[i]), 0);
        CHECK_EQ(value, wanted);
    }
}

int main(void)
{
    check(nest, (1 << DEEP) - 1);
    check(tasks, MANY);
    return check_result();
}
