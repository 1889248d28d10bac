// what: declare reduction of a struct on @CONSTRUCT@: initialiser per private copy, combiner, old value once
// languages: c, c++
// each: CONSTRUCT ; OPEN ; LOOP = parallel for ; ; omp parallel for reduction(span : s) / dynamic for ; omp parallel ; omp for reduction(span : s) schedule(dynamic) / taskloop ; omp parallel master ; omp taskloop reduction(span : s) grainsize(3) / simd ; ; omp simd reduction(span : s)
#include "check.h"
struct span { int low, high; double sum; int tag; };
static void widen(struct span *a, const struct span *b)
{
    a->low = b->low < a->low ? b->low : a->low;
    a->high = b->high > a->high ? b->high : a->high;
    a->sum += b->sum;
}
static struct span empty(const struct span *original)
{
    CHECK_EQ(original->tag, 77);
    return (struct span){1 << 30, -(1 << 30), 0, 77};
}
#pragma omp declare reduction(span : struct span : widen(&omp_out, &omp_in)) initializer(omp_priv = empty(&omp_orig))
int main(void)
{
    struct span s = {50, 50, 1000, 77};
#pragma @OPEN@
#pragma @LOOP@
    for (int i = 1; i <= 100; i++) {
        struct span one = {i * 7 % 101, i * 7 % 101, (double)i, 77};
        widen(&s, &one);
    }
    CHECK_EQ(s.low, 1);
    CHECK_EQ(s.high, 100);
    CHECK_EQ(s.sum, 1000 + 5050);
    return check_result();
}
