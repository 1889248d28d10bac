// what: futures: values of functions that were invoked, values set by tasks, many tasks that wait
// ours: ompx_* is Gangway's
// mode: link
// threads: 1,2,4
#include "check.h"
#include "ompx.h"

enum { MANY = 2000, WAITING = 100 };

static void square(const void *args, size_t bytes, ompx_result_t *result)
{
    long x = *(const long *)args, y = x * x;
    CHECK_EQ(bytes, sizeof x);
    CHECK_EQ((size_t)args % 16, 0);
    ompx_result_set(result, &x, sizeof x);
    CHECK_EQ(ompx_result_set(result, &y, sizeof y), 0); /* in its place */
}

static void nothing(const void *args, size_t bytes, ompx_result_t *result)
{
    CHECK(args == NULL && bytes == 0 && result != NULL);
}

/* Waits for two others each time. */
static void fib(const void *args, size_t bytes, ompx_result_t *result)
{
    long n = *(const long *)args, x[2] = {n - 1, n - 2}, y[2] = {n, 0};
    ompx_future_t f[2];
    for (int i = 0; i < 2 && n > 1; i++)
        CHECK_EQ(ompx_invoke(0, fib, &x[i], bytes, &f[i]), 0);
    for (int i = 0; i < 2 && n > 1; i++) {
        CHECK_EQ(ompx_future_get(f[i], &y[i], sizeof y[i]), 0);
        CHECK_EQ(ompx_future_free(f[i]), 0);
    }
    y[0] += y[1];
    ompx_result_set(result, y, sizeof *y);
}

static void sets(const void *args, size_t bytes, ompx_result_t *result)
{
    const ompx_future_t *future = args;
    (void)bytes;
    (void)result;
    CHECK_EQ(ompx_future_set(*future, future, sizeof *future), 0);
}

static ompx_future_t futures[MANY];

static void check_values(void)
{
    for (long i = 0; i < MANY; i++)
        CHECK_EQ(ompx_invoke(0, square, &i, sizeof i, &futures[i]), 0);
#pragma omp parallel for schedule(dynamic, 7)
    for (long i = 0; i < MANY; i++) {
        long y = -1;
        size_t size = 0;
        CHECK_EQ(ompx_future_wait(futures[i]), 0);
        CHECK_EQ(ompx_future_test(futures[i]), 1);
        CHECK_EQ(ompx_future_size(futures[i], &size), 0);
        CHECK_EQ(size, sizeof y);
        CHECK_EQ(ompx_future_get(futures[i], &y, sizeof y), 0);
        CHECK_EQ(y, i * i);
        CHECK_EQ(ompx_future_free(futures[i]), 0);
    }
}

/* More tasks wait than there are threads; who sets comes later in the queue. One thread alone may run each
 * task where it is made. */
static void check_tasks(int threads)
{
    int sum = 0;
    for (int i = 0; i < WAITING; i++)
        CHECK_EQ(ompx_future_create(&futures[i]), 0);
#pragma omp parallel
#pragma omp single
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < WAITING; i++)
#pragma omp task firstprivate(i, pass) shared(sum)
        {
            int value = i;
            if (pass == (threads == 1)) {
                CHECK_EQ(ompx_future_get(futures[i], &value, sizeof value), 0);
#pragma omp atomic
                sum += value;
            } else {
                CHECK_EQ(ompx_future_set(futures[i], &value, sizeof value), 0);
            }
        }
    CHECK_EQ(sum, WAITING * (WAITING - 1) / 2);
    for (int i = 0; i < WAITING; i++)
        CHECK_EQ(ompx_future_free(futures[i]), 0);
}

int main(void)
{
    long n = 15, y = 0;
    ompx_future_t future, same;
    check_values();
    check_tasks(omp_get_max_threads());
    CHECK_EQ(ompx_invoke(0, fib, &n, sizeof n, &future), 0);
    CHECK_EQ(ompx_future_get(future, &y, sizeof y), 0);
    CHECK_EQ(y, 610);
    CHECK_EQ(ompx_future_free(future), 0);
    CHECK_EQ(ompx_future_create(&future), 0);
    CHECK_EQ(ompx_future_test(future), 0);
    CHECK_EQ(ompx_invoke(0, sets, &future, sizeof future, NULL), 0);
    while (ompx_future_test(future) == 0)
        ;
    CHECK_EQ(ompx_future_get(future, &same, sizeof same), 0);
    CHECK(same.rank == 0 && same.id == future.id && same.generation == future.generation);
    CHECK_EQ(ompx_future_free(future), 0);
    CHECK_EQ(ompx_invoke(0, nothing, NULL, 0, &future), 0);
    CHECK_EQ(ompx_future_get(future, NULL, 0), 0);
    CHECK_EQ(ompx_future_free(future), 0);
    CHECK_EQ(ompx_invoke(0, nothing, NULL, 0, &future), 0);
    CHECK_EQ(ompx_future_free(future), 0); /* nobody wants the value */
    return check_result();
}
