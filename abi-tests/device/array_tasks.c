// what: tasks that use streams of GPUs find the blocks of coherent arrays there that their accesses name, on several GPUs if they ask for it
// compilers: clang>=19
// offload: yes
// devices: 1,3
// threads: 1,4
// mode: preload
// ours: ompx_array_create
// only-gpu: it uses streams
// expect-stderr: blocks of arrays need 8388608 bytes on device 0 at a time, for which there is no room
// expect-stderr: ompx_future_wait
// expect-stderr-lines: 2
// gpus: memory=7
#include "check.h"
#include <omp.h>
#include "arrays.h"
#include "cuda_driver.h"
enum { BLOCK = 3000, BLOCKS = 6, LINKS = 40 };
#define BYTES (BLOCK * sizeof(long))

typedef int (*copy_function)(long to, long from, size_t bytes, void *stream);
static copy_function copy_within;

typedef struct {
    const long *from;
    long *to;
} move_t;

/* One block becomes a copy of another one. */
static int move(void *stream, const void *args)
{
    const move_t *blocks = args;
    void *from = ompx_array_pointer(blocks->from, -1), *to = ompx_array_pointer(blocks->to, -1);
    if (from == NULL || to == NULL || ompx_array_pointer(&copy_within, -1) != NULL)
        return 7;
    return copy_within((long)to, (long)from, BYTES, stream);
}

static int nothing(void *stream, const void *args)
{
    return stream == NULL || args != NULL;
}

static int first_is(const long *block, long value)
{
    int wrong = ompx_array_host(block, BYTES, OMPX_IN) != 0;
    for (int i = 0; i < BLOCK; i++)
        wrong += block[i] != value + i;
    return wrong == 0;
}

/* Around and around over blocks and devices, with regions and the host between. */
static void around(long *a, int devices)
{
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < BLOCK; i++)
            a[b * BLOCK + i] = b * 100000 + i;
    long want = 0;
#pragma omp parallel
#pragma omp single
    for (int l = 0; l < LINKS; l++) {
        long *from = a + l % BLOCKS * BLOCK, *to = a + (l + 1) % BLOCKS * BLOCK;
        move_t blocks = {from, to};
        ompx_access_t accesses[] = {{from, OMPX_IN}, {to, OMPX_OUT}};
        int device = l % 3 == 0 ? ompx_device_any_gpu() : l % devices;
        if (l % 4 == 1)
            CHECK_EQ(ompx_prefetch(from, BYTES, l % devices, NULL), 0);
        CHECK_EQ(ompx_cuda_task(device, move, &blocks, sizeof blocks, accesses, 2, NULL), 0);
        if (l % 5 == 2) {
            want += 7;
#pragma omp target nowait depend(inout : to[0]) map(tofrom : to[0 : BLOCK]) device((l + 1) % devices)
            for (int i = 0; i < BLOCK; i++)
                to[i] += 7;
        }
    }
    CHECK(first_is(a + LINKS % BLOCKS * BLOCK, want));
}

/* One task on all GPUs: each copies a block of its own to another one. */
static void on_several(long *a, int devices)
{
    CHECK_EQ(ompx_array_host(a, BLOCKS * BYTES, OMPX_OUT), 0);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < BLOCK; i++)
            a[b * BLOCK + i] = b * 1000 + i;
#pragma omp parallel
#pragma omp single
#pragma omp task
    {
        ompx_use_t uses[2 * 3];
        for (int d = 0; d < devices; d++) {
            uses[2 * d] = (ompx_use_t){a + 2 * d * BLOCK, OMPX_IN, d};
            uses[2 * d + 1] = (ompx_use_t){a + (2 * d + 1) * BLOCK, OMPX_INOUT, d};
        }
        CHECK_EQ(ompx_array_use(uses, 2 * devices), 0);
        for (int d = 0; d < devices; d++) {
            long from = (long)ompx_array_pointer(a + 2 * d * BLOCK, d),
                 to = (long)ompx_array_pointer(a + (2 * d + 1) * BLOCK, d);
            CHECK_EQ(copy_within(to, from, BYTES, ompx_cuda_stream_on(d)), 0);
        }
    }
    for (int d = 0; d < devices; d++)
        CHECK(first_is(a + (2 * d + 1) * BLOCK, 2000 * d));
}

/* More than a GPU has: the task's future fails, and others go on. */
static void too_much(void)
{
    char *a = ompx_array_create(NULL, 8 << 20, 4 << 20);
    ompx_access_t both[] = {{a, OMPX_IN}, {a + (4 << 20), OMPX_INOUT}};
    ompx_future_t future;
    CHECK_EQ(ompx_cuda_task(0, nothing, NULL, 0, both, 2, &future), 0);
    CHECK_EQ(ompx_future_wait(future), OMPX_E_BROKEN);
    CHECK_EQ(ompx_future_free(future), 0);
    CHECK_EQ(ompx_cuda_task(0, nothing, NULL, 0, both, 1, &future), 0);
    CHECK_EQ(ompx_future_wait(future), 0);
    CHECK_EQ(ompx_future_free(future), 0);
    CHECK_EQ(ompx_array_destroy(a), 0);
}

int main(void)
{
    copy_within = (copy_function)(CHECK(omp_get_num_devices() > 0), cuda("cuMemcpyDtoDAsync_v2"));
    long *a = ompx_array_create(NULL, BLOCKS * BYTES, BYTES);
    CHECK(a != NULL);
    around(a, omp_get_num_devices());
    on_several(a, omp_get_num_devices());
    too_much();
    CHECK_EQ(ompx_array_destroy(a), 0);
    return check_result();
}
