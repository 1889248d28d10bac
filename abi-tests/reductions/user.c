// what: reductions declared by the program over a struct, with and without an initializer, and over 200 bytes
#include "check.h"
struct range {
    int low, high;
    long sum;
};
static void join(struct range *into, const struct range *from)
{
    if (from->low < into->low)
        into->low = from->low;
    if (from->high > into->high)
        into->high = from->high;
    into->sum += from->sum;
}
#pragma omp declare reduction(join : struct range : join(&omp_out, &omp_in)) \
    initializer(omp_priv = {1 << 30, -(1 << 30), 0})
struct wide {
    long v[25];
};
static void add(struct wide *into, const struct wide *from)
{
    for (int i = 0; i < 25; i++)
        into->v[i] += from->v[i];
}
#pragma omp declare reduction(add : struct wide : add(&omp_out, &omp_in)) initializer(omp_priv = {{0}})
int main(void)
{
    struct range r = {5, 5, 100};
    struct wide w = {{0}};
#pragma omp parallel for reduction(join : r)
    for (int i = -40; i < 60; i++) {
        struct range one = {i, i, i};
        join(&r, &one);
    }
    CHECK_EQ(r.low, -40);
    CHECK_EQ(r.high, 59);
    CHECK_EQ(r.sum, 100 + 950);
#pragma omp parallel for reduction(add : w) schedule(guided)
    for (int i = 0; i < 500; i++)
        w.v[i % 25] += i;
    for (int k = 0; k < 25; k++)
        CHECK_EQ(w.v[k], 20 * k + 25 * 190);
    return check_result();
}
