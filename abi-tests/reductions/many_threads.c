// what: small and large teams, several regions back to back, nowait, nested reductions
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    for (int size = 1; size <= 40; size += 3) {
        long sum = 0, product = 1;
        double d = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum, d) reduction(* : product)
        {
            sum += omp_get_thread_num();
            d += 0.25;
            product *= omp_get_thread_num() == 3 ? 7 : 1;
        }
        CHECK_EQ(sum, (long)size * (size - 1) / 2);
        CHECK(d == 0.25 * size);
        CHECK_EQ(product, size > 3 ? 7 : 1);
    }
    long a = 0, b = 0, c = 0;
#pragma omp parallel
    {
#pragma omp for reduction(+ : a) nowait
        for (int i = 0; i < 100; i++)
            a += i;
#pragma omp for reduction(+ : b) nowait schedule(dynamic)
        for (int i = 0; i < 100; i++)
            b += i;
#pragma omp sections reduction(+ : c)
        {
            c += 1;
#pragma omp section
            c += 2;
        }
#pragma omp single
        {
            CHECK_EQ(a, 4950);
            CHECK_EQ(b, 4950);
            CHECK_EQ(c, 3);
        }
    }
    omp_set_max_active_levels(2);
    long outer = 0;
#pragma omp parallel reduction(+ : outer)
    {
        long inner = 0;
#pragma omp parallel num_threads(3) reduction(+ : inner)
        inner += omp_get_thread_num() + 1;
        outer += inner;
    }
    CHECK_EQ(outer, 6L * n);
    return check_result();
}
