// what: lastprivate and linear under every schedule; lastprivate(conditional)
// compilers: gcc,clang>=19
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    int a = 0, c = 0, lin = 100, conditional = -1;
    double d[3] = {0};
#pragma omp parallel for lastprivate(a)
    for (int i = 0; i < 77; i++)
        a = i;
    CHECK_EQ(a, 76);
#pragma omp parallel for lastprivate(c, d) schedule(guided)
    for (long i = 0; i < 200; i++) {
        c = (int)i;
        d[2] = i * 0.5;
    }
    CHECK_EQ(c, 199);
    CHECK(d[2] == 99.5);
#pragma omp parallel for linear(lin : 3)
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(lin, 100 + 3 * i);
        lin += 3;
    }
    CHECK_EQ(lin, 250);
#ifndef __clang__ /* clang 19 loses conditional lastprivate at -O2 */
#pragma omp parallel for lastprivate(conditional : conditional) schedule(dynamic)
    for (int i = 0; i < 100; i++)
        if (i % 7 == 3)
            conditional = i;
    CHECK_EQ(conditional, 94);
#endif
#pragma omp parallel for firstprivate(a) lastprivate(a)
    for (int i = 0; i < 10; i++)
        a = a + 0 * i + (i == 9);
    CHECK(a == 77);
    return check_result();
}
