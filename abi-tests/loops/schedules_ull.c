// what: every schedule, modifier and chunk with an index of type unsigned long long: each iteration once, upward and downward
// threads: 1,2,3,8
// env: OMP_SCHEDULE=guided,3
#include "check.h"
typedef unsigned long long index_t;
static unsigned char seen[4000];
static void all_once(long n, const char *what)
{
    long wrong = 0;
    for (long i = 0; i < n; i++)
        wrong += seen[i] != 1;
    for (long i = n; i < 4000; i++)
        wrong += seen[i] != 0;
    if (wrong)
        fprintf(stderr, "%s, %ld iterations\n", what, n);
    CHECK_EQ(wrong, 0);
    memset(seen, 0, sizeof seen);
}
static void loop0(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(static)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "static, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "static, up by 3");
#pragma omp parallel for schedule(static)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "static, down by 2");
    (void)chunk;
}
static void loop1(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(static, 1)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "static, 1, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "static, 1, up by 3");
#pragma omp parallel for schedule(static, 1)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "static, 1, down by 2");
    (void)chunk;
}
static void loop2(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(static, 7)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "static, 7, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(static, 7)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "static, 7, up by 3");
#pragma omp parallel for schedule(static, 7)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "static, 7, down by 2");
    (void)chunk;
}
static void loop3(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(static, 5000)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "static, 5000, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(static, 5000)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "static, 5000, up by 3");
#pragma omp parallel for schedule(static, 5000)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "static, 5000, down by 2");
    (void)chunk;
}
static void loop4(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(dynamic)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "dynamic, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "dynamic, up by 3");
#pragma omp parallel for schedule(dynamic)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "dynamic, down by 2");
    (void)chunk;
}
static void loop5(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(dynamic, 7)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "dynamic, 7, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 7)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "dynamic, 7, up by 3");
#pragma omp parallel for schedule(dynamic, 7)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "dynamic, 7, down by 2");
    (void)chunk;
}
static void loop6(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(guided)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "guided, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(guided)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "guided, up by 3");
#pragma omp parallel for schedule(guided)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "guided, down by 2");
    (void)chunk;
}
static void loop7(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(guided, 5)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "guided, 5, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(guided, 5)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "guided, 5, up by 3");
#pragma omp parallel for schedule(guided, 5)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "guided, 5, down by 2");
    (void)chunk;
}
static void loop8(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(runtime)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "runtime, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(runtime)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "runtime, up by 3");
#pragma omp parallel for schedule(runtime)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "runtime, down by 2");
    (void)chunk;
}
static void loop9(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(auto)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "auto, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(auto)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "auto, up by 3");
#pragma omp parallel for schedule(auto)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "auto, down by 2");
    (void)chunk;
}
static void loop10(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(nonmonotonic : dynamic)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "nonmonotonic: dynamic, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(nonmonotonic : dynamic)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "nonmonotonic: dynamic, up by 3");
#pragma omp parallel for schedule(nonmonotonic : dynamic)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "nonmonotonic: dynamic, down by 2");
    (void)chunk;
}
static void loop11(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(monotonic : dynamic, 4)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "monotonic: dynamic, 4, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(monotonic : dynamic, 4)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "monotonic: dynamic, 4, up by 3");
#pragma omp parallel for schedule(monotonic : dynamic, 4)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "monotonic: dynamic, 4, down by 2");
    (void)chunk;
}
static void loop12(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(dynamic, chunk)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "dynamic, chunk, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, chunk)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "dynamic, chunk, up by 3");
#pragma omp parallel for schedule(dynamic, chunk)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "dynamic, chunk, down by 2");
    (void)chunk;
}
static void loop13(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(monotonic : guided, 6)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "monotonic: guided, 6, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(monotonic : guided, 6)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "monotonic: guided, 6, up by 3");
#pragma omp parallel for schedule(monotonic : guided, 6)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "monotonic: guided, 6, down by 2");
    (void)chunk;
}
static void loop14(long n, index_t chunk)
{
    index_t limit = (index_t)n;
#pragma omp parallel for schedule(nonmonotonic : runtime)
    for (index_t i = 0; i < limit; i++)
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    all_once(n, "nonmonotonic: runtime, up by 1");
#pragma omp parallel
    {
#pragma omp for schedule(nonmonotonic : runtime)
        for (index_t i = 10; i < 3 * limit + 10; i += 3)
            __atomic_fetch_add(&seen[(i - 10) / 3], 1, __ATOMIC_RELAXED);
    }
    all_once(n, "nonmonotonic: runtime, up by 3");
#pragma omp parallel for schedule(nonmonotonic : runtime)
    for (index_t i = 2 * limit + 7; i > 7; i -= 2)
        __atomic_fetch_add(&seen[(i - 8) / 2], 1, __ATOMIC_RELAXED);
    all_once(n, "nonmonotonic: runtime, down by 2");
    (void)chunk;
}
int main(void)
{
    static const long sizes[] = {0, 1, 100};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        loop0(sizes[s], (index_t)(s + 1));
        loop1(sizes[s], (index_t)(s + 1));
        loop2(sizes[s], (index_t)(s + 1));
        loop3(sizes[s], (index_t)(s + 1));
        loop4(sizes[s], (index_t)(s + 1));
        loop5(sizes[s], (index_t)(s + 1));
        loop6(sizes[s], (index_t)(s + 1));
        loop7(sizes[s], (index_t)(s + 1));
        loop8(sizes[s], (index_t)(s + 1));
        loop9(sizes[s], (index_t)(s + 1));
        loop10(sizes[s], (index_t)(s + 1));
        loop11(sizes[s], (index_t)(s + 1));
        loop12(sizes[s], (index_t)(s + 1));
        loop13(sizes[s], (index_t)(s + 1));
        loop14(sizes[s], (index_t)(s + 1));
    }
    return check_result();
}
