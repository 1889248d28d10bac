// what: a task has a block of an array that a child with a false if clause wants on another device: a line, and no wait without end
// offload: yes
// devices: 2
// threads: 1,4
// mode: preload
// ours: ompx_array_create
// expect-exit: 1
// expect-stderr: blocks of arrays for a target construct on device 1: the same task, or one that waits for its end, uses a block of an array on another device; the program stops
// expect-stderr-lines: 1
#include "device.h"
#include "arrays.h"
enum { BLOCK = 100 };

int main(void)
{
    long *a = ompx_array_create(NULL, BLOCK * sizeof(long), 0);
#pragma omp parallel
#pragma omp single
#pragma omp task
    {
        ompx_use_t use = {a, OMPX_INOUT, 0};
        CHECK_EQ(ompx_array_use(&use, 1), 0);
#pragma omp task if (0)
        {
#pragma omp target map(tofrom : a[0 : BLOCK]) device(1)
            a[0]++;
        }
    }
    return 2;
}
