/* Regions with data go where the measured rates (OMPX_RATES) say that data arrive soonest: rates DEVICE. */
#include "device.h"
#include "ompx.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    enum { N = 1 << 20 };
    int wanted = argc > 1 ? atoi(argv[1]) : 0, where = -1;
    char *data = malloc(N);
    memset(data, 1, N);
    for (int i = 0; i < 4; i++) {
#pragma omp target device(ompx_device_any()) map(to : data[0 : N]) map(from : where)
        where = omp_get_device_num() + data[N - 1] - 1;
        CHECK_EQ(where, wanted);
    }
    free(data);
    return check_result();
}
