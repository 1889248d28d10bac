// what: a program that requires unified shared memory runs on the host when its devices have none
// compilers: clang>=19
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
#pragma omp requires unified_shared_memory
#pragma omp begin declare target
int counter = 1;
#pragma omp end declare target
int main(void)
{
    int local = 1, on = -1, *p = &local;
#pragma omp target map(from : on)
    {
        on = omp_get_device_num();
        ++*p; // not mapped
        ++counter;
    }
    CHECK_EQ(on, omp_get_num_devices());
    CHECK_EQ(local, 2);
    CHECK_EQ(counter, 2);
    return check_result();
}
