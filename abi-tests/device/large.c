// what: 64 MiB go to the device and back
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    size_t n = (size_t)8 << 20;
    double *v = malloc(n * sizeof *v);
    EACH_DEVICE(d)
    {
        for (size_t i = 0; i < n; i++)
            v[i] = i;
#pragma omp target teams distribute parallel for device(d) map(tofrom : v[0 : n])
        for (size_t i = 0; i < n; i++)
            v[i] += 1;
        size_t wrong = 0;
        for (size_t i = 0; i < n; i++)
            wrong += v[i] != (double)i + 1;
        CHECK_EQ(wrong, 0);
    }
    free(v);
    return check_result();
}
