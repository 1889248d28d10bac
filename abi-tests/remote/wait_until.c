// what: ompx_wait_until: for what other functions and other tasks make true, by more tasks than threads, and outside of regions
// ours: ompx_* is Gangway's
// mode: link
// threads: 2,4
#include "check.h"
#include "ompx.h"

enum { WAITING = 60 };

static int flags[WAITING + 1];

static int is_set(void *flag)
{
    return __atomic_load_n((int *)flag, __ATOMIC_ACQUIRE);
}

static void sets(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)bytes;
    (void)result;
    __atomic_store_n(*(int *const *)args, 1, __ATOMIC_RELEASE);
}

/* Waits for what a function sets that is invoked later. */
static void waits(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)bytes;
    ompx_wait_until(is_set, *(int *const *)args);
    ompx_result_set(result, args, bytes);
}

int main(void)
{
    ompx_future_t futures[WAITING];
    int *flag = &flags[WAITING], ended = 0;
    CHECK_EQ(ompx_invoke(0, sets, &flag, sizeof flag, NULL), 0);
    ompx_wait_until(is_set, flag);
    CHECK_EQ(*flag, 1);
#pragma omp parallel
#pragma omp single
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < WAITING; i++)
#pragma omp task firstprivate(i, pass) shared(ended)
        {
            if (pass == 0)
                ompx_wait_until(is_set, &flags[i]);
            else
                __atomic_store_n(&flags[i], 1, __ATOMIC_RELEASE);
#pragma omp atomic
            ended++;
        }
    CHECK_EQ(ended, 2 * WAITING);
    memset(flags, 0, sizeof flags);
    for (int i = 0; i < WAITING; i++) {
        flag = &flags[i];
        CHECK_EQ(ompx_invoke(0, waits, &flag, sizeof flag, &futures[i]), 0);
    }
    for (int i = 0; i < WAITING; i++) {
        flag = &flags[i];
        CHECK_EQ(ompx_future_test(futures[i]), 0);
        CHECK_EQ(ompx_invoke(0, sets, &flag, sizeof flag, NULL), 0);
    }
    for (int i = 0; i < WAITING; i++) {
        CHECK_EQ(ompx_future_get(futures[i], &flag, sizeof flag), 0);
        CHECK(flag == &flags[i]);
        CHECK_EQ(ompx_future_free(futures[i]), 0);
    }
    return check_result();
}
