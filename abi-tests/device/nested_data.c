// what: target data regions nest, over several devices at once, and end in order
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int last = omp_get_num_devices(), a[4] = {1, 2, 3, 4};
    EACH_DEVICE(d)
    {
        int e = (d + 1) % (last + 1), x = 1;
#pragma omp target data device(d) map(tofrom : x) map(to : a)
        {
#pragma omp target data device(e) map(to : x) if (e != d)
            {
#pragma omp target device(d) map(tofrom : x) map(to : a)
                x += a[3];
#pragma omp target data device(d) map(tofrom : x)
                {
#pragma omp target device(d) map(alloc : x)
                    x *= 10;
                    CHECK_EQ(x, APART(d, 1, 50));
                }
                CHECK_EQ(x, APART(d, 1, 50));
                CHECK_EQ(omp_target_is_present(&x, d), 1);
            }
            if (is_apart(d))
                CHECK_EQ(x, 1);
        }
        CHECK_EQ(x, 50);
        CHECK_EQ(omp_target_is_present(&x, d), !is_apart(d));
    }
    return check_result();
}
