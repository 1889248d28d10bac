/* A region that holds most of a device's memory waits for a function which launches another one: that one is inside of it, and does not wait for the
 * room. gcc only: clang has no code of the runtime's for a device. */
#include "device.h"
#include "ompx.h"

enum { OUTER = 900 << 10, INNER = 400 << 10 };

static void inner(const void *args, size_t bytes, ompx_result_t *result)
{
    char *x = calloc(INNER, 1);
    long sum = 0;
    (void)args;
    (void)bytes;
#pragma omp target device(ompx_device_any()) map(tofrom : x[0 : INNER])
    for (int i = 0; i < INNER; i++)
        x[i]++;
    for (int i = 0; i < INNER; i++)
        sum += x[i];
    free(x);
    ompx_result_set(result, &sum, sizeof sum);
}

int main(void)
{
    char *x = calloc(OUTER, 1);
    long sum = 0;
#pragma omp target device(ompx_device_any()) map(to : x[0 : OUTER]) map(from : sum)
    {
        ompx_future_t done;
        CHECK_EQ(ompx_invoke(0, inner, NULL, 0, &done), 0);
        CHECK_EQ(ompx_future_get(done, &sum, sizeof sum), 0);
        CHECK_EQ(ompx_future_free(done), 0);
    }
    CHECK_EQ(sum, INNER);
    free(x);
    return check_result();
}
