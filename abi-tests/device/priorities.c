// what: kernels of regions and streams of tasks have the priority of their task, up to the greatest that the GPU has
// compilers: clang>=19
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_cuda_stream
// only-gpu: the host has no priorities, nor streams
#include "check.h"
#include <omp.h>
#include "cuda_driver.h"
#include "streams.h"
enum { ROUNDS = 20, GREATEST = 5 };

/* The driver for tests writes the priority of a kernel's stream here. */
int fake_priority;
#pragma omp declare target to(fake_priority)

typedef int (*priority_function)(void *stream, int *priority);
static priority_function priority_of;

static int expected(int priority)
{
    return priority < GREATEST ? -priority : -GREATEST;
}

static void on_device(int device)
{
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int priority = i % (GREATEST + 3);
#pragma omp task priority(priority) shared(wrong)
        {
            int said = 77;
#pragma omp target map(from : said) device(device)
            said = fake_priority;
#pragma omp atomic
            wrong += said != expected(priority);
        }
#pragma omp task priority(priority) shared(wrong)
        {
            int said = 77;
            CHECK(priority_of(ompx_cuda_stream_on(device), &said) == 0);
#pragma omp atomic
            wrong += said != expected(priority);
        }
    }
#pragma omp taskwait
    CHECK(wrong == 0);
    /* Without a task that has one. */
    int said = 77;
#pragma omp target map(from : said) device(device)
    said = fake_priority;
    CHECK(said == 0);
}

int main(void)
{
    CHECK(omp_get_num_devices() > 0);
    priority_of = (priority_function)cuda("cuStreamGetPriority");
    for (int device = 0; device < omp_get_num_devices(); device++) {
#pragma omp parallel
#pragma omp single
        on_device(device);
        on_device(device);
    }
    return check_result();
}
