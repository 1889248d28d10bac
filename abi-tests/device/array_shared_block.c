// what: regions that use different parts of one block of a coherent array at the same time, on several devices, lose nothing
// offload: yes
// devices: 2,3
// threads: 4
// mode: preload
// ours: ompx_array_create
#include "device.h"
#include "arrays.h"
enum { PARTS = 6, PART = 500, ROUNDS = 25 };
int main(void)
{
    int devices = omp_get_num_devices();
    long *a = ompx_array_create(NULL, PARTS * PART * sizeof(long), 0);
    CHECK(a != NULL && devices > 0);
#pragma omp parallel
#pragma omp single
    for (int p = 0; p < PARTS; p++)
        for (int r = 0; r < ROUNDS; r++) {
            long *part = a + p * PART;
#pragma omp target nowait depend(inout : part[0]) map(tofrom : part[0 : PART]) device((p + r) % devices)
            for (int i = 0; i < PART; i++)
                part[i] += i;
        }
    CHECK_EQ(ompx_array_host(a, 1, OMPX_IN), 0);
    int wrong = 0;
    for (int i = 0; i < PARTS * PART; i++)
        wrong += a[i] != (long)ROUNDS * (i % PART);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(ompx_array_destroy(a), 0);
    return check_result();
}
