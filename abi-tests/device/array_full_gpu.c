// what: coherent arrays of more bytes than the memory of their GPUs: what nobody uses makes room, ordinary mappings included
// gpus: memory=2,delay=20
// offload: yes
// devices: 2
// threads: 1,4
// mode: preload
// ours: ompx_array_create
// only-gpu: only the driver for tests has so little memory
#include "array_graph.h"
enum { LARGE = 3 << 18 };
int main(void)
{
    graph(24, 24 << 10, 150, 7);
    /* Blocks lie on all devices; storage that is no array finds room. */
    char *a = ompx_array_create(NULL, 4 << 20, 256 << 10), *x = calloc(LARGE, 1);
    for (int d = 0; d < 2; d++)
        for (int b = 0; b < 6; b++) {
            char *block = a + (b << 18);
#pragma omp target map(tofrom : block[0 : 1 << 18]) device(d)
            block[0]++;
        }
    for (int d = 0; d < 2; d++) {
#pragma omp target map(tofrom : x[0 : LARGE]) device(d)
        for (int i = 0; i < LARGE; i++)
            x[i]++;
    }
    CHECK_EQ(x[0] + x[LARGE - 1], 4);
    CHECK_EQ(ompx_array_host(a, 4 << 20, OMPX_IN), 0);
    CHECK_EQ(a[0] + a[5 << 18], 4);
    CHECK_EQ(ompx_array_destroy(a), 0);
    free(x);
    return check_result();
}
