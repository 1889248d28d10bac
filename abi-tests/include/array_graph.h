/* Tasks by chance over the blocks of one array, in order by their dependences: regions on all devices, on one
 * that the runtime chooses, tasks of the host. Each adds what it reads to what it writes. */
#ifndef ARRAY_GRAPH_H
#define ARRAY_GRAPH_H
#include "device.h"
#include "arrays.h"

static unsigned long array_seed;

static int by_chance(int below)
{
    array_seed = array_seed * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((array_seed >> 33) % (unsigned long)below);
}

static void add(long *into, const long *from, int n, int step)
{
    for (int i = 0; i < n; i++)
        into[i] = into[i] * 3 + from[i] + step;
}

/* `block` numbers in each of `blocks` blocks, so many tasks. */
static void graph(int blocks, int block, int tasks, unsigned long seed)
{
    int devices = omp_get_num_devices();
    size_t bytes = (size_t)blocks * block * sizeof(long);
    long *a = ompx_array_create(NULL, bytes, block * sizeof(long)),
         *want = calloc(blocks, block * sizeof(long));
    CHECK(a != NULL && want != NULL);
    array_seed = seed;
    for (int i = 0; i < blocks * block; i++)
        a[i] = want[i] = i % 1000;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < tasks; t++) {
        int i = by_chance(blocks), j = (i + 1 + by_chance(blocks - 1)) % blocks, kind = by_chance(8),
            device = by_chance(devices);
        long *into = a + (long)i * block, *from = a + (long)j * block;
        add(want + (long)i * block, want + (long)j * block, block, t);
        if (kind == 0) {
#pragma omp task depend(inout : into[0]) depend(in : from[0]) firstprivate(into, from, t)
            {
                CHECK_EQ(ompx_array_host(into, block * sizeof *into, OMPX_INOUT), 0);
                CHECK_EQ(ompx_array_host(from, block * sizeof *from, OMPX_IN), 0);
                add(into, from, block, t);
            }
        } else if (kind == 1) {
            CHECK_EQ(ompx_prefetch(from, block * sizeof *from, device, NULL), 0);
        }
        if (kind >= 4) {
#pragma omp target nowait depend(inout : into[0]) depend(in : from[0]) map(tofrom : into[0 : block]) \
    map(to : from[0 : block]) device(device) firstprivate(t, block)
            for (int n = 0; n < block; n++)
                into[n] = into[n] * 3 + from[n] + t;
        } else if (kind != 0) {
#pragma omp target nowait depend(inout : into[0]) depend(in : from[0]) map(tofrom : into[0 : block]) \
    map(to : from[0 : block]) device(ompx_device_any()) firstprivate(t, block)
            for (int n = 0; n < block; n++)
                into[n] = into[n] * 3 + from[n] + t;
        }
    }
    CHECK_EQ(ompx_array_host(a, bytes, OMPX_IN), 0);
    int wrong = 0;
    for (int i = 0; i < blocks * block; i++)
        wrong += a[i] != want[i];
    CHECK_EQ(wrong, 0);
    CHECK_EQ(ompx_array_destroy(a), 0);
    free(want);
}
#endif
