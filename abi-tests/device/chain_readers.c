// what: regions that hold a copy for each other, and nobody else does: what one of them writes comes to the host when it ends, though others read the copy meanwhile
// offload: yes
// devices: 1,2
// threads: 4
// mode: preload
// ours: ompx_device_any_gpu
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include "ompx.h"
#pragma weak ompx_device_any_gpu

enum { SIZE = 4096, TIMES = 12 };

static void spin(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

/* Two that read, one that writes behind them, a slow one that reads behind that, and the host, which waits
 * for the one that writes alone. */
static void readers(int device, int turns)
{
    static int x[SIZE];
    for (int i = 0; i < SIZE; i++)
        x[i] = i;
    int wrong = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp target nowait device(device) depend(in : x[0]) map(to : x[0 : SIZE])
        spin(turns);
#pragma omp target nowait device(device) depend(in : x[0]) map(to : x[0 : SIZE])
        spin(4 * turns);
#pragma omp target nowait device(device) depend(inout : x[0]) map(tofrom : x[0 : SIZE])
        for (int i = 0; i < SIZE; i++)
            x[i]++;
#pragma omp target nowait device(device) depend(in : x[0]) map(to : x[0 : SIZE])
        spin(8 * turns);
#pragma omp task depend(in : x[0]) shared(wrong)
        for (int i = 0; i < SIZE; i++)
            wrong += x[i] != i + 1;
    }
    CHECK_EQ(wrong, 0);
    wrong = 0;
    for (int i = 0; i < SIZE; i++)
        wrong += x[i] != i + 1;
    CHECK_EQ(wrong, 0);
}

int main(void)
{
    for (int round = 0; round < TIMES; round++) {
        for (int device = 0; device < omp_get_num_devices(); device++)
            readers(device, 50000 << round % 4);
        if (ompx_device_any_gpu && getenv("OMPX_CUDA"))
            readers(ompx_device_any_gpu(), 50000 << round % 4);
    }
    return check_result();
}
