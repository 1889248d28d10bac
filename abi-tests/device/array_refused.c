// what: mistakes with coherent arrays are refused with a line each, and change nothing
// offload: yes
// devices: 2
// threads: 4
// mode: preload
// ours: ompx_array_create
// expect-stderr: ompx_array_create: a part of these bytes is an array already; it returns null
// expect-stderr: ompx_array_host: these bytes are of no array
// expect-stderr: ompx_array_destroy: it is in use on a device
// expect-stderr: ompx_array_use: the task has asked for blocks, or for a stream, before
// expect-stderr-lines: 15
#include "device.h"
#include "arrays.h"
#include <unistd.h>
enum { N = 1024, LARGE = 8 << 20 };

int main(void)
{
    int *a = malloc(N * sizeof *a), other = 0;
    for (int i = 0; i < N; i++)
        a[i] = i;
    CHECK(ompx_array_create(a, 0, 0) == NULL);
    CHECK(ompx_array_create(a, N * sizeof *a, 256) == a);
    CHECK(ompx_array_create(a + N / 2, 4, 4) == NULL);
    CHECK_EQ(ompx_array_host(&other, 4, OMPX_IN), OMPX_E_RANGE);
    CHECK_EQ(ompx_array_host(a, 4, 99), OMPX_E_TYPE);
    CHECK_EQ(ompx_array_destroy(a + 1), OMPX_E_RANGE);
    CHECK_EQ(ompx_prefetch(a, 4, 17, NULL), OMPX_E_DEVICE);
    CHECK_EQ(ompx_prefetch(&other, 4, 0, NULL), OMPX_E_RANGE);
#pragma omp target enter data map(to : a[0 : 64]) device(0)
    CHECK_EQ(ompx_array_destroy(a), OMPX_E_WAITED);
#pragma omp target exit data map(from : a[0 : 64]) device(0)
    ompx_use_t here = {a, OMPX_INOUT, 0}, there = {a, OMPX_IN, 1}, wrong = {a, 0, 0},
               none = {&other, OMPX_IN, 0};
    CHECK_EQ(ompx_array_use(&here, 1), OMPX_E_TASK);
    CHECK(ompx_array_pointer(a, 0) == NULL);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task shared(here, there, wrong, none, other)
        {
            ompx_use_t both[] = {here, there};
            CHECK_EQ(ompx_array_use(&wrong, 1), OMPX_E_TYPE);
            CHECK_EQ(ompx_array_use(&none, 1), OMPX_E_RANGE);
            CHECK_EQ(ompx_array_use(both, 0), OMPX_E_COUNT);
            CHECK_EQ(ompx_array_use(&here, 1), 0);
            CHECK(ompx_array_pointer(a, 0) != NULL &&
                  ompx_array_pointer(a + 1, -1) == (int *)ompx_array_pointer(a, 0) + 1);
            CHECK(ompx_array_pointer(a, 1) == NULL && ompx_array_pointer(a + 64, 0) == NULL &&
                  ompx_array_pointer(&other, -1) == NULL);
            CHECK_EQ(ompx_array_use(&there, 1), OMPX_E_SET);
            CHECK_EQ(ompx_array_host(a, 4, OMPX_IN), OMPX_E_WAITED);
        }
#pragma omp taskwait
    }
    /* Copies ahead of time that have not begun when the array goes. */
#pragma omp parallel
#pragma omp single
    {
        char *gone = ompx_array_create(NULL, LARGE, LARGE / 4);
#pragma omp task depend(out : gone[0], gone[LARGE / 4], gone[LARGE / 2], gone[LARGE / 4 * 3])
        usleep(20000);
        ompx_future_t future;
        CHECK_EQ(ompx_prefetch(gone, LARGE, 1, &future), 0);
        CHECK_EQ(ompx_array_destroy(gone), 0);
        CHECK_EQ(ompx_future_wait(future), 0);
        CHECK_EQ(ompx_future_free(future), 0);
    }
    CHECK_EQ(ompx_array_host(a, N * sizeof *a, OMPX_IN), 0);
    for (int i = 0; i < N; i++)
        other += a[i] != i;
    CHECK_EQ(other, 0);
    CHECK_EQ(ompx_array_destroy(a), 0);
    CHECK_EQ(ompx_array_destroy(a), OMPX_E_RANGE);
    free(a);
    return check_result();
}
