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

struct meeting {
    ompx_future_t all_here;
    int *arrived;
};

/* All of them have to begin before one of them can go on, and nothing else is invoked meanwhile. */
static void meet(const void *args, size_t bytes, ompx_result_t *result)
{
    struct meeting m = *(const struct meeting *)args;
    (void)bytes;
#pragma omp parallel num_threads(2)
#pragma omp single
    if (__atomic_add_fetch(m.arrived, 1, __ATOMIC_ACQ_REL) == MANY)
        CHECK_EQ(ompx_future_set(m.all_here, NULL, 0), 0);
    else
        CHECK_EQ(ompx_future_wait(m.all_here), 0);
    ompx_result_set(result, m.arrived, sizeof *m.arrived);
}

static void check_meeting(void)
{
    ompx_future_t futures[MANY];
    int arrived = 0;
    struct meeting m = {{0}, &arrived};
    CHECK_EQ(ompx_future_create(&m.all_here), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(ompx_invoke(0, meet, &m, sizeof m, &futures[i]), 0);
    for (int i = 0; i < MANY; i++) {
        int value = 0;
        CHECK_EQ(ompx_future_get(futures[i], &value, sizeof value), 0);
        CHECK_EQ(ompx_future_free(futures[i]), 0);
        CHECK_EQ(value, MANY);
    }
    CHECK_EQ(ompx_future_free(m.all_here), 0);
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
    check_meeting();
    return check_result();
}
