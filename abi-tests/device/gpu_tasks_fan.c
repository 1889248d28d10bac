// what: many device tasks that follow a long one on its GPU leave turns to those that can run on the other GPU
// compilers: clang>=19
// offload: yes
// devices: 2
// threads: 4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
#include "gpu_tasks.h"
enum { FOLLOWERS = 80, OTHERS = 40, LONG = 600000 };

static int length = 1000, others, others_in_time, followers, is_over;

static void naps_long(void *none)
{
    (void)none;
    usleep(LONG);
    others_in_time = __atomic_load_n(&others, __ATOMIC_RELAXED);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
}

static void naps_as_other(void *none)
{
    (void)none;
    usleep(length);
    __atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
}

static int puts_long(void *stream, const void *args)
{
    return put_call(stream, naps_long, args);
}
static int puts_other(void *stream, const void *args)
{
    return put_call(stream, naps_as_other, args);
}

static int puts_follower(void *stream, const void *args)
{
    (void)args;
    __atomic_fetch_add(&followers, 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &length);
}

int main(void)
{
    char x;
    int none = 0;
#pragma omp parallel
#pragma omp single
    {
        any_task(puts_long, 0, &x);
        ompx_access_t reads = {&x, OMPX_IN};
        uint64_t before = turns().regions_waited;
        for (int i = 0; i < FOLLOWERS; i++)
            CHECK_EQ(
                ompx_cuda_task(ompx_device_any_gpu(), puts_follower, &none, sizeof none, &reads, 1, NULL), 0);
        /* They stand in line. */
        while (turns().regions_waited - before < FOLLOWERS / 2 &&
               !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
            usleep(1000);
        for (int i = 0; i < OTHERS; i++)
            any_task(puts_other, 0, NULL);
    }
    CHECK_EQ(others, OTHERS);
    CHECK_EQ(followers, FOLLOWERS);
    CHECK(others_in_time > OTHERS / 2);
    return check_result();
}
