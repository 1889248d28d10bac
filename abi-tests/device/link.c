// what: declare target link: the variable is there while it is mapped
// compilers: clang>=19
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int x = 3, a[10];
#pragma omp declare target link(x, a)
int main(void)
{
    EACH_DEVICE(d)
    {
        int seen = 0;
        x = 9 + d;
        a[3] = 4;
#pragma omp target device(d) map(tofrom : x, a) map(from : seen)
        {
            seen = x + a[3];
            x = 11;
            a[4] = 5;
        }
        CHECK_EQ(seen, 13 + d);
        CHECK_EQ(x, 11);
        CHECK_EQ(a[4], 5);
        CHECK_EQ(omp_target_is_present(&x, d), !is_apart(d));
#pragma omp target enter data device(d) map(to : x)
        x = 50;
#pragma omp target device(d) map(from : seen)
        seen = x;
        CHECK_EQ(seen, APART(d, 11, 50));
#pragma omp target exit data device(d) map(release : x)
    }
    return check_result();
}
