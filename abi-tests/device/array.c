// what: blocks of a coherent array go to the regions that use them, stay there, and come back when the host asks: @BLOCK@ numbers each
// each: BLOCK = 1 / 100 / 512 / 3000
// offload: yes
// devices: 1,3
// threads: 1,4
// mode: preload
// ours: ompx_array_create
#include "device.h"
#include "arrays.h"
enum { BLOCK = @BLOCK@, BLOCKS = 5, N = BLOCK * BLOCKS - BLOCK / 2, ROUNDS = 12 };
#define BYTES (N * sizeof(long))

static int length(int block)
{
    return block == BLOCKS - 1 ? N - block * BLOCK : BLOCK;
}

/* Chains of regions over all devices and the host, a chain for each block. */
static void chains(long *a, int devices)
{
    long want[BLOCKS], offset = a[0];
#pragma omp parallel
#pragma omp single
    for (int b = 0; b < BLOCKS; b++) {
        want[b] = b * BLOCK + offset;
        for (int r = 0; r < ROUNDS; r++) {
            long *block = a + b * BLOCK;
            int n = length(b), device = (b + r * (1 + b % 2)) % (devices + 1);
            want[b] = want[b] * 3 + r;
            if (r % 5 == 4) { /* the host itself */
#pragma omp task depend(inout : block[0]) firstprivate(block, n, r)
                {
                    CHECK_EQ(ompx_array_host(block, n * sizeof *block, OMPX_INOUT), 0);
                    for (int i = 0; i < n; i++)
                        block[i] = block[i] * 3 + r;
                }
                continue;
            }
#pragma omp target nowait depend(inout : block[0]) map(tofrom : block[0 : n]) device(device) firstprivate(n, r)
            for (int i = 0; i < n; i++)
                block[i] = block[i] * 3 + r;
        }
    }
    CHECK_EQ(ompx_array_host(a, BYTES, OMPX_IN), 0);
    int wrong = 0;
    for (int b = 0; b < BLOCKS; b++)
        wrong += a[b * BLOCK] != want[b];
    CHECK_EQ(wrong, 0);
}

static void set(long *a)
{
    CHECK_EQ(ompx_array_host(a, BYTES, OMPX_OUT), 0);
    for (int i = 0; i < N; i++)
        a[i] = i;
}

/* A region leaves its block on its device: the host's bytes stay old until it asks. Others find the new ones. */
static void lazily(long *a, int devices)
{
    set(a);
    for (int d = 0; d < devices; d++) {
        long old = a[0], seen = -1;
#pragma omp target map(tofrom : a[0 : BLOCK]) device(d)
        a[0] += 1000;
        CHECK_EQ(a[0], old);
#pragma omp target map(to : a[0 : BLOCK]) map(from : seen) device((d + 1) % devices)
        seen = a[0];
        CHECK_EQ(seen, 1000 * (d + 1));
        CHECK_EQ(ompx_array_host(a, 1, OMPX_IN), 0);
        CHECK_EQ(a[0], 1000 * (d + 1));
    }
    for (int i = 1; i < N; i++)
        if (a[i] != i)
            CHECK_EQ(a[i], i);
}

/* What a region maps of a part of a block, it leaves the rest as it was; what it maps of several blocks is copied to and fro. */
static void parts(long *a, int devices)
{
    set(a);
    for (int d = 0; d < devices; d++) {
        long *last = a + N - 1;
#pragma omp target map(tofrom : a[0 : BLOCK]) device(d)
        for (int i = 0; i < BLOCK; i++)
            a[i] += 1;
#pragma omp target map(from : last[0 : 1]) device((d + 1) % devices)
        last[0] = 77 + d;
#pragma omp target map(tofrom : a[0 : N]) device((d + 1) % devices)
        for (int i = 0; i < N - 1; i++)
            a[i] += 1;
        CHECK_EQ(ompx_array_host(a, BYTES, OMPX_IN), 0);
        int wrong = 0;
        for (int i = 0; i < N - 1; i++)
            wrong += a[i] != i + (d + 1) * (i < BLOCK ? 2 : 1);
        CHECK_EQ(wrong, 0);
        CHECK_EQ(a[N - 1], 77 + d);
    }
}

/* Data constructs keep a block on a device; what others write meanwhile is seen there, since it is one array. */
static void data(long *a, int devices)
{
    set(a);
    for (int d = 0; d < devices; d++) {
        long first = a[0], seen = -1;
        CHECK_EQ(ompx_array_host(a, 1, OMPX_IN), 0);
#pragma omp target enter data map(to : a[0 : BLOCK]) device(d)
#pragma omp target data map(tofrom : a[0 : BLOCK]) device(d)
        {
#pragma omp target map(tofrom : a[0 : BLOCK]) device(d)
            a[0] += 5;
#pragma omp target map(tofrom : a[0 : BLOCK]) device((d + 1) % devices)
            a[0] *= 2;
#pragma omp target map(tofrom : a[0 : BLOCK]) map(from : seen) device(d)
            seen = a[0];
        }
        CHECK_EQ(seen, (first + 5) * 2);
#pragma omp target exit data map(from : a[0 : BLOCK]) device(d)
        CHECK_EQ(ompx_array_host(a, 1, OMPX_INOUT), 0);
        CHECK_EQ(a[0], (first + 5) * 2);
        a[0] += 1;
    }
    CHECK_EQ(ompx_array_host(a, 1, OMPX_IN), 0);
}

/* Regions whose device is the runtime's choice, all of which read one block; and copies ahead of them. */
static void chosen(long *a, int devices)
{
    enum { REGIONS = 24 };
    long sums[REGIONS];
    set(a);
#pragma omp parallel
#pragma omp single
    {
#pragma omp target nowait depend(out : a[0]) map(tofrom : a[0 : BLOCK]) device(devices - 1)
        a[0] = 41;
        ompx_future_t ahead;
        for (int d = 0; d < devices; d++)
            CHECK_EQ(ompx_prefetch(a, BYTES, d, d == 0 ? &ahead : NULL), 0);
        CHECK_EQ(ompx_future_wait(ahead), 0);
        CHECK_EQ(ompx_future_free(ahead), 0);
        for (int r = 0; r < REGIONS; r++) {
            long *sum = sums + r, *block = a + r % BLOCKS * BLOCK;
            int n = length(r % BLOCKS);
#pragma omp target nowait depend(in : a[0], block[0]) map(to : a[0 : BLOCK], block[0 : n]) map(from : sum[0 : 1]) device(ompx_device_any())
            sum[0] = a[0] + block[n - 1];
        }
    }
    int wrong = 0;
    for (int r = 0; r < REGIONS; r++) {
        int b = r % BLOCKS, last = b * BLOCK + length(b) - 1;
        wrong += sums[r] != 41 + (last == 0 ? 41 : last);
    }
    CHECK_EQ(wrong, 0);
}

int main(void)
{
    int devices = omp_get_num_devices();
    long *own = ompx_array_create(NULL, BYTES, BLOCK * sizeof(long)), *mine = malloc(BYTES);
    CHECK(own != NULL && devices > 0);
    CHECK_EQ(own[0] + own[N - 1], 0);
    CHECK(ompx_array_create(mine, BYTES, BLOCK * sizeof(long)) == mine);
    long *both[] = { own, mine };
    for (int which = 0; which < 2; which++) {
        set(both[which]);
        chains(both[which], devices);
        lazily(both[which], devices);
        parts(both[which], devices);
        data(both[which], devices);
        chosen(both[which], devices);
    }
    /* What is an array no more has its value. */
#pragma omp target map(tofrom : mine[0 : BLOCK]) device(0)
    mine[0] = -5;
    CHECK_EQ(ompx_array_destroy(mine), 0);
    CHECK_EQ(mine[0], -5);
    CHECK_EQ(ompx_array_destroy(own), 0);
    free(mine);
    return check_result();
}
