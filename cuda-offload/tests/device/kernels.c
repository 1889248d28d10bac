/* Kernels for the fake driver: each argument as large as a pointer, the first one the launch's environment
 * where a kernel takes one. */
#define _GNU_SOURCE
#include <stdint.h>
#include <unistd.h>

unsigned fake_geometry[3];
int fake_priority;

/* What clang leaves with a kernel: mode in the third byte, then least and most threads, least and most teams,
 * reduction's bytes and length. */
struct kernel_environment {
    uint8_t state_machine, nested, mode;
    int32_t least_threads, most_threads, least_teams, most_teams, reduction_bytes, reduction_length;
    void *ident, *dynamic;
};
_Static_assert(sizeof(struct kernel_environment) == 48, "as LLVM 19 has it");

struct {
    uint32_t debug, devices, number, memory;
    uint64_t clock, table, table_size, parallelism;
#ifdef OTHER_RELEASE
    uint64_t more;
#endif
} __omp_rtl_device_environment;
#ifndef OTHER_RELEASE
_Static_assert(sizeof __omp_rtl_device_environment == 48, "as LLVM 19 has it");
#endif

int counter = 7;

/* to[i] = from[i] + by */
void add(const int *from, int *to, uintptr_t count, uintptr_t by)
{
    for (uintptr_t i = 0; i < count; i++)
        to[i] = from[i] + (int)by;
}

/* Where it runs, and with how many teams and threads. */
void where(unsigned *out)
{
    out[0] = __omp_rtl_device_environment.number;
    out[1] = __omp_rtl_device_environment.devices;
    for (int i = 0; i < 3; i++)
        out[2 + i] = fake_geometry[i];
}

/* Its stream's priority. */
void priority(int *out)
{
    *out = fake_priority;
}

struct launch_environment {
    uint32_t count, iterations;
    char *buffer;
};

/* A reduction through the buffer of the launch: out is 0 if that is as it has to be. */
void reduce(const struct launch_environment *environment, unsigned *out)
{
    out[0] = environment->count | environment->iterations;
    if (environment->buffer)
        for (int i = 0; i < 8 * 16; i++)
            environment->buffer[i] = (char)i;
    out[1] = environment->buffer != 0;
}
struct kernel_environment reduce_kernel_environment = {0, 0, 1, 0, 64, 0, 1, 8, 16, 0, 0};

/* No reduction. */
void plain(const struct launch_environment *environment, unsigned *out)
{
    out[0] = environment->count | environment->iterations;
    out[1] = environment->buffer != 0;
}
struct kernel_environment plain_kernel_environment = {0, 0, 2, 1, 256, 0, 0, 0, 0, 0, 0};

/* A release that nobody knows. */
void newer(const struct launch_environment *environment, unsigned *out)
{
    (void)environment;
    (void)out;
}
char newer_kernel_environment[56];

/* The thread that runs the stream. */
void thread(unsigned *out)
{
    *out = (unsigned)gettid();
}

/* Waits until the device's memory has a 1 there. */
void hold(volatile unsigned *gate)
{
    while (!*gate)
        ;
}

/* to[i] = from[i], where only a pointer to `from` is given. */
void follow(int *const *from, int *to, uintptr_t count)
{
    for (uintptr_t i = 0; i < count; i++)
        to[i] = (*from)[i];
}
