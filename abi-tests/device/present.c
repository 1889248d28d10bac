// what: map(present) of what is there is like map without it: @CLAUSE@
// each: CLAUSE ; IN ; OUT = map(present, to : x) ; 0 ; 0 / map(present, always, tofrom : x) ; 1 ; 1 / map(present, alloc : x) ; 0 ; 0
// compilers: clang>=19
// flags: clang -fopenmp-version=52
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    EACH_DEVICE(d)
    {
        int x = 1, seen = 0;
#pragma omp target enter data device(d) map(to : x)
        x = 2;
#pragma omp target device(d) @CLAUSE@ map(from : seen)
        {
            seen = x;
            x = 3;
        }
        CHECK_EQ(seen, APART(d, @IN@ ? 2 : 1, 2));
        CHECK_EQ(x, APART(d, @OUT@ ? 3 : 2, 3));
#pragma omp target update device(d) from(present : x)
        CHECK_EQ(x, 3);
#pragma omp target exit data device(d) map(delete : x)
    }
    return check_result();
}
