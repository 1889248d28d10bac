/* The body of spin/float_live*.c: each thread computes in a rounding mode of its own, with values in
 * registers while it spins. What it should get is what the same function gives without waiting. */
#include "check.h"
#include "spin.h"
#include <fenv.h>
typedef double quad __attribute__((vector_size(32)));
struct result {
    double scalar, lanes, extended;
    int mode;
};
static int mode_of(int id)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    return modes[id % 4];
}
static __attribute__((noinline)) struct result live(int id, struct spin_barrier *barrier, int size)
{
    struct result result;
    fesetround(mode_of(id));
    double third = 3 + id, a = id + 0.1, b = 1.0 / 7, c = 0.3;
    long double x = 1.0L / third;
    quad q = {a, b, c, third}, r = {0.1, 0.2, 0.3, 0.4};
    for (int round = 0; round < 20; round++) {
        spin_wait(barrier, size);
        a = a * 1.01 + b;
        b = b / third + c;
        c = c * 0.97 + a / 11;
        x = x * 1.01L + 1 / x;
        q = q * r + q / 3;
        r = r + q * 0.01;
    }
    result.scalar = a + b + c;
    result.lanes = q[0] + q[1] + q[2] + q[3] + r[0] + r[3];
    result.extended = (double)x;
    result.mode = fegetround();
    fesetround(FE_TONEAREST);
    return result;
}
int main(void)
{
    int n = omp_get_max_threads();
    struct result wanted[64];
    struct spin_barrier barrier = {0, 0}, alone = {0, 0};
    for (int i = 0; i < n; i++)
        wanted[i] = live(i, &alone, 1);
#pragma omp parallel shared(barrier)
    {
        int id = omp_get_thread_num();
        struct result got = live(id, &barrier, n);
        CHECK_EQ(got.mode, mode_of(id));
        CHECK(got.scalar == wanted[id].scalar);
        CHECK(got.lanes == wanted[id].lanes);
        CHECK(got.extended == wanted[id].extended);
    }
    return check_result();
}
