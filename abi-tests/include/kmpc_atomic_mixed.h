/* The library's atomics among the compiler's own, on the same locations. */
#include "check.h"
void __kmpc_atomic_fixed1_add(void *, int, signed char *, signed char),
    __kmpc_atomic_fixed8_xor(void *, int, long *, long);
void __kmpc_atomic_float4_add(void *, int, float *, float),
    __kmpc_atomic_float8_sub(void *, int, double *, double);
void __kmpc_atomic_float10_add(void *, int, long double *, long double);
void __kmpc_atomic_10(void *, int, void *, void *, void (*)(void *, void *, void *));

static void add(void *out, void *a, void *b)
{
    *(long double *)out = *(long double *)a + *(long double *)b;
}

/* Each thread updates by the compiler's means and by the library's in turns. */
int main(void)
{
    enum { rounds = 40000 };
    signed char c = 0;
    long bits = 0;
    float f = 0;
    double d = 0;
    long double wide = 0, one = 1;
    int n = 4;
#pragma omp parallel num_threads(n)
    for (int i = 0; i < rounds; i++) {
        __kmpc_atomic_fixed1_add(0, 0, &c, 1);
#pragma omp atomic
        c += 2;
        __kmpc_atomic_fixed8_xor(0, 0, &bits, 1L << omp_get_thread_num());
#pragma omp atomic
        bits ^= 16L << omp_get_thread_num();
        __kmpc_atomic_float4_add(0, 0, &f, 1);
#pragma omp atomic
        f += 1;
        __kmpc_atomic_float8_sub(0, 0, &d, 1);
#pragma omp atomic
        d -= 1;
        __kmpc_atomic_float10_add(0, 0, &wide, 1);
#pragma omp atomic
        wide += 1;
        __kmpc_atomic_10(0, 0, &wide, &one, add);
    }
    CHECK_EQ(c, (signed char)(3 * n * rounds));
    CHECK_EQ(bits, 0);
    CHECK(f == 2.0f * n * rounds);
    CHECK(d == -2.0 * n * rounds);
    CHECK(wide == 3.0L * n * rounds);
    return check_result();
}
