// what: declare target variables and functions: values go both ways by update
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
#pragma omp declare target
int counter = 3, table[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static int twice(int x)
{
    return 2 * x + counter;
}
#pragma omp end declare target
int main(void)
{
    EACH_DEVICE(d)
    {
        int r = 0;
        counter = 10 + d;
        table[9] = 90;
#pragma omp target update device(d) to(counter, table[9 : 1])
#pragma omp target device(d) map(from : r)
        {
            r = twice(table[9]) + table[8];
            counter = -5;
            table[0] = 77;
        }
        CHECK_EQ(r, 180 + 10 + d + 8);
#pragma omp target update device(d) from(counter, table)
        CHECK_EQ(counter, -5);
        CHECK_EQ(table[0] + table[1], 78);
        CHECK_EQ(omp_target_is_present(&counter, d) || d < omp_get_num_devices(), 1);
        table[0] = 0;
    }
    return check_result();
}
