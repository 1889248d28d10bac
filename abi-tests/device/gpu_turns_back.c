// what: regions that wait for a block of an array hold no turns: the region that its user waits for begins
// offload: yes
// devices: 2
// threads: 4
// mode: preload
// ours: ompx_array_create
#include "check.h"
#include <omp.h>
#include <unistd.h>
#include "arrays.h"
#include "turns.h"
#pragma weak ompx_device_set
enum { N = 300, ROUNDS = 3 };

static char parts[N];

int main(void)
{
    int any = ompx_device_any_gpu(), second = 1, other = ompx_device_set(&second, 1),
        devices = omp_get_num_devices();
    long *a = ompx_array_create(NULL, N * sizeof(long), 0), result = 0;
    CHECK(a != NULL && devices == 2);
    for (int round = 0; round < ROUNDS; round++) {
        int has_it = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp task shared(result, has_it)
            {
                ompx_use_t use = {a, OMPX_INOUT, 0};
                CHECK_EQ(ompx_array_use(&use, 1), 0);
#pragma omp atomic write
                has_it = 1;
                /* The others are made meanwhile, and begin. */
                usleep(50000);
#pragma omp target nowait depend(out : result) map(tofrom : result) device(any)
                result += 1;
#pragma omp task depend(inout : result)
                result += 1;
#pragma omp taskwait depend(in : result)
            }
            for (int seen = 0; !seen; usleep(100)) {
#pragma omp taskyield
#pragma omp atomic read
                seen = has_it;
            }
            for (int w = 0; w < N; w++) {
#pragma omp target nowait depend(out : parts[w]) map(tofrom : a[w : 1]) device(other)
                a[w] += 1;
            }
        }
    }
    CHECK_EQ(result, 2 * ROUNDS);
    CHECK_EQ(ompx_array_host(a, 1, OMPX_IN), 0);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += a[i] != ROUNDS;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(ompx_array_destroy(a), 0);
    return check_result();
}
