// what: a task that uses a block of an array until its end makes many regions that want the block on another device: they wait for it, and it does not run one of them itself
// offload: yes
// devices: 2
// threads: 1,2,4
// mode: preload
// ours: ompx_array_create
#include "device.h"
#include "arrays.h"
enum { BLOCK = 100, REGIONS = 700 };

static int ran;

/* Other tasks between, so that it has many of either kind. */
static void use_and_make(long *a)
{
    ompx_use_t use = {a, OMPX_INOUT, 0};
    CHECK_EQ(ompx_array_use(&use, 1), 0);
    for (int r = 0; r < REGIONS; r++) {
#pragma omp target nowait map(tofrom : a[0 : BLOCK]) device(1) depend(inout : a[0])
        for (int i = 0; i < BLOCK; i++)
            a[i]++;
#pragma omp task firstprivate(r) depend(in : a[1 + r % 7])
        __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    }
}

int main(void)
{
    long *a = ompx_array_create(NULL, BLOCK * sizeof(long), 0);
    for (int round = 1; round <= 3; round++) {
#pragma omp parallel
#pragma omp single
#pragma omp task
        use_and_make(a);
        CHECK_EQ(ompx_array_host(a, BLOCK * sizeof(long), OMPX_IN), 0);
        CHECK_EQ(a[BLOCK - 1], (long)round * REGIONS);
        CHECK_EQ(ran, round * REGIONS);
    }
    return check_result();
}
