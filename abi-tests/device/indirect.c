// what: functions called through pointers on the device, declared indirect
// compilers: clang>=19
// flags: clang -fopenmp-version=52
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int base = 1000;
#pragma omp declare target(base)
int add(int x)
{
    return x + base;
}
int sub(int x)
{
    return x - base;
}
#pragma omp declare target indirect enter(add, sub)
int main(void)
{
    base = 5;
    EACH_DEVICE(d)
    {
        int (*f)(int) = d % 2 ? add : sub, r = 0, s = 0;
#pragma omp target device(d) map(from : r)
        r = f(1); // the device's own function, which sees the device's variable
        CHECK_EQ(r, APART(d, d % 2 ? 1001 : -999, d % 2 ? 6 : -4));
#pragma omp target device(d) map(from : s) firstprivate(f)
        s = f == 0;
        CHECK_EQ(s, 0);
    }
    return check_result();
}
