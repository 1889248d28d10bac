/* The body of spin/compute*.c: long loops over vector registers without a call, against the same function run
 * serially. */
#include "check.h"
#include <stdint.h>
enum { SIZE = 512 };
struct sums {
    double real;
    uint32_t whole;
};
#define DEFINE_WORK(name, target) \
    target static __attribute__((noinline)) struct sums name(int seed, int turns) \
    { \
        double a[SIZE], b[SIZE]; \
        uint32_t c[SIZE]; \
        struct sums sums = {0, 0}; \
        for (int i = 0; i < SIZE; i++) { \
            a[i] = seed + i * 0.001; \
            b[i] = 1.0 / (i + 1); \
            c[i] = (uint32_t)(seed * 977 + i); \
        } \
        for (int turn = 0; turn < turns; turn++) \
            for (int i = 0; i < SIZE; i++) { \
                a[i] = a[i] * 0.9999 + b[i] * 0.5; \
                b[i] = b[i] * 0.5 + a[i] * 0.0001; \
                c[i] = (c[i] ^ (c[i] << 5)) + (c[i] >> 7); \
            } \
        for (int i = 0; i < SIZE; i++) { \
            sums.real += a[i] - b[i]; \
            sums.whole += c[i]; \
        } \
        return sums; \
    }
DEFINE_WORK(work_plain, )
#ifdef __x86_64__
DEFINE_WORK(work_avx2, __attribute__((target("avx2"))))
#else
#define work_avx2 work_plain
#endif
static int wide(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") != 0;
#else
    return 0;
#endif
}
enum { TURNS = 6000, ROUNDS = 3 };
int main(void)
{
    int n = omp_get_max_threads(), use_wide = wide();
    struct sums plain[64], vector[64];
    for (int i = 0; i < n; i++) {
        plain[i] = work_plain(i, TURNS);
        vector[i] = use_wide ? work_avx2(i, TURNS) : plain[i];
    }
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        for (int round = 0; round < ROUNDS; round++) {
            struct sums got = work_plain(id, TURNS);
            CHECK(got.real == plain[id].real && got.whole == plain[id].whole);
            got = use_wide ? work_avx2(id, TURNS) : got;
            CHECK(got.real == vector[id].real && got.whole == vector[id].whole);
        }
    }
    return check_result();
}
