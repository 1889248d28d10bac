// what: a region with forty mapped variables and as many copies gets each of them
// offload: yes
// no-gpu: the driver for tests passes 16 arguments on
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
#define EACH(M) \
    M(0) \
    M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15) M(16) M(17) M(18) M(19)
#define DECLARE(i) \
    int a##i = i; \
    double b##i[2] = {i, 2 * i}; \
    char c##i = i; \
    long e##i = 1000 + i;
#define USE(i) \
    a##i += c##i; \
    b##i[1] += e##i;
#define LOOK(i) \
    CHECK_EQ(a##i, 2 * i); \
    CHECK_EQ(b##i[1], 1000 + 3 * i); \
    CHECK_EQ(c##i, i);
int main(void)
{
    EACH_DEVICE(d)
    {
        EACH(DECLARE)
#pragma omp target device(d) defaultmap(none) \
    map(tofrom : a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19) \
    map(tofrom : b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15, b16, b17, b18, b19) \
    firstprivate(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19) \
    firstprivate(e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16, e17, e18, e19)
            {EACH(USE)} EACH(LOOK)
    }
    return check_result();
}
