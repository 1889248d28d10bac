// what: a section is found by the address of its array: implicitly, and by use_device_ptr
// compilers: clang>=19
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
enum { N = 100, FROM = 30, LENGTH = 20 };
int main(void)
{
    EACH_DEVICE(d)
    {
        int *a = malloc(N * sizeof *a), *there = NULL;
        for (int i = 0; i < N; i++)
            a[i] = i;
#pragma omp target enter data device(d) map(to : a[FROM : LENGTH])
#pragma omp target device(d)
        for (int i = FROM; i < FROM + LENGTH; i++)
            a[i] *= 2;
#pragma omp target data device(d) use_device_ptr(a)
        there = a;
        CHECK_EQ(there != a, is_apart(d));
        CHECK_EQ(a[FROM], APART(d, FROM, 2 * FROM));
#pragma omp target exit data device(d) map(from : a[FROM : LENGTH])
        for (int i = 0; i < N; i++)
            CHECK_EQ(a[i], i >= FROM && i < FROM + LENGTH ? 2 * i : i);
        free(a);
    }
    return check_result();
}
