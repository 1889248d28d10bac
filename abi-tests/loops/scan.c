// what: inscan reductions, inclusive and exclusive
// compilers: gcc,clang>=14
#include "check.h"
int main(void)
{
    static int in[500], inclusive[500], exclusive[500];
    for (int i = 0; i < 500; i++)
        in[i] = (i * 37 + 11) % 101;
    int sum = 0, other = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < 500; i++) {
        sum += in[i];
#pragma omp scan inclusive(sum)
        inclusive[i] = sum;
    }
#pragma omp parallel for reduction(inscan, + : other)
    for (int i = 0; i < 500; i++) {
        exclusive[i] = other;
#pragma omp scan exclusive(other)
        other += in[i];
    }
    int want = 0;
    for (int i = 0; i < 500; i++) {
        CHECK_EQ(exclusive[i], want);
        want += in[i];
        CHECK_EQ(inclusive[i], want);
    }
#ifndef __clang__ /* clang does not bring the sum back out of the combined construct */
    CHECK_EQ(sum, want);
    CHECK_EQ(other, want);
#endif
    return check_result();
}
