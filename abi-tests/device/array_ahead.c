// what: what a region reads of an array is on its device when the last thing that it waits for is done, but for what a task may still write on the host
// offload: yes
// devices: 1,3
// threads: 2,4
// mode: preload
// ours: ompx_array_create
#include "device.h"
#include "arrays.h"
#include "turns.h"
#include <unistd.h>
enum { BLOCK = 2000, ROUNDS = 12 };

static uint64_t ahead(void)
{
    return turns().blocks_ahead;
}

static void fill(long *block, long value)
{
    CHECK_EQ(ompx_array_host(block, BLOCK * sizeof *block, OMPX_OUT), 0);
    for (int i = 0; i < BLOCK; i++)
        block[i] = value + i;
}

/* The second block is made by a task that waits, for a while, until the first one is on its way to the
 * device. */
static void comes_while_others_work(long *a, int device, int round)
{
    long *first = a, *second = a + BLOCK, sums[2] = {0, 0};
    int came = 0;
#pragma omp parallel
#pragma omp single
    {
        uint64_t before = ahead();
#pragma omp task depend(out : second[0]) shared(came)
        {
            fill(second, -round);
            for (int tries = 0; ahead() == before && tries < 1000; tries++) {
                usleep(100);
#pragma omp taskyield
            }
            came = ahead() != before;
        }
#pragma omp task depend(out : first[0])
        fill(first, round);
        /* It is the one that brings both: none is there, and nobody else reads them there. */
#pragma omp target nowait depend(in : first[0], second[0]) map(to : first[0 : BLOCK], second[0 : BLOCK]) \
    map(tofrom : sums[0 : 2]) device(device)
        for (int i = 0; i < BLOCK; i++) {
            sums[0] += first[i];
            sums[1] += second[i];
        }
    }
    CHECK_EQ(came, 1);
    CHECK_EQ(sums[0], (long)BLOCK * round + (long)BLOCK * (BLOCK - 1) / 2);
    CHECK_EQ(sums[1], -(long)BLOCK * round + (long)BLOCK * (BLOCK - 1) / 2);
}

/* A task writes half of the block, and the other half later; the region knows it by another name only. */
static void is_not_torn(long *a, int device, int round)
{
    long *block = a + 2 * BLOCK, wrong = 0;
    int begun = 0, done;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : done) shared(begun)
        {
            CHECK_EQ(ompx_array_host(block, BLOCK * sizeof *block, OMPX_INOUT), 0);
            for (int i = 0; i < BLOCK / 2; i++)
                block[i] = round;
            __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
            usleep(3000);
            for (int i = BLOCK / 2; i < BLOCK; i++)
                block[i] = round;
        }
        while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield
        }
#pragma omp target nowait depend(in : block[0], done) map(to : block[0 : BLOCK]) map(tofrom : wrong) \
    device(device)
        for (int i = 0; i < BLOCK; i++)
            wrong += block[i] != round;
    }
    CHECK_EQ(wrong, 0);
}

/* Two tasks write a half each; the one that has asked last ends first. */
static void is_whole(long *a, int device, int round)
{
    long *block = a + 3 * BLOCK, wrong = 0;
    int begun = 0, over = 0, first, second;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : first) shared(begun, over)
        {
            CHECK_EQ(ompx_array_host(block, BLOCK * sizeof *block, OMPX_INOUT), 0);
            __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
            while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
                usleep(100);
            usleep(3000);
            for (int i = 0; i < BLOCK / 2; i++)
                block[i] = round;
        }
        while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
            usleep(100);
#pragma omp task depend(out : second) shared(over)
        {
            CHECK_EQ(ompx_array_host(block, BLOCK * sizeof *block, OMPX_INOUT), 0);
            for (int i = BLOCK / 2; i < BLOCK; i++)
                block[i] = round;
        }
#pragma omp taskwait depend(in : second)
        __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
#pragma omp target nowait depend(in : block[0], first, second) map(to : block[0 : BLOCK]) \
    map(tofrom : wrong) device(device)
        for (int i = 0; i < BLOCK; i++)
            wrong += block[i] != round;
    }
    CHECK_EQ(wrong, 0);
}

/* A block that a region names for the order only is in use elsewhere, by the task that waits for the region.
 */
static void waits_for_nobody(long *a, int devices)
{
    long *block = a + 4 * BLOCK, other = 0, late = 0;
#pragma omp parallel
#pragma omp single
#pragma omp task shared(other, late)
    {
        ompx_use_t use = {block, OMPX_INOUT, devices - 1};
        CHECK_EQ(ompx_array_use(&use, 1), 0);
#pragma omp task depend(out : late) shared(late)
        {
            usleep(1000);
            late = 1;
        }
#pragma omp target nowait depend(in : block[0], late) map(tofrom : other) device(0)
        other++;
#pragma omp taskwait
    }
    CHECK_EQ(other, 1);
}

int main(void)
{
    long *a = ompx_array_create(NULL, 5 * BLOCK * sizeof *a, BLOCK * sizeof *a);
    CHECK(a != NULL);
    for (int round = 1; round <= ROUNDS; round++) {
        comes_while_others_work(a, round % omp_get_num_devices(), round);
        is_not_torn(a, round % omp_get_num_devices(), round);
        is_whole(a, round % omp_get_num_devices(), round);
        waits_for_nobody(a, omp_get_num_devices());
    }
    CHECK_EQ(ompx_array_destroy(a), 0);
    return check_result();
}
