/* What tests/sync/kmpc_atomic.c needs for one entry point: declarations in the shape that Intel's library
 * gives them, a serial check against the same expression in C, and a check by four threads that no update is
 * lost. */
#ifndef KMPC_ATOMIC_H
#define KMPC_ATOMIC_H
#include "check.h"
#include <complex.h>

typedef signed char fixed1;
typedef short fixed2;
typedef int fixed4;
typedef long long fixed8;
typedef unsigned char fixed1u;
typedef unsigned short fixed2u;
typedef unsigned fixed4u;
typedef unsigned long long fixed8u;
typedef float float4;
typedef double float8;
typedef long double float10;
typedef __float128 float16;
typedef float complex cmplx4;
typedef double complex cmplx8;
typedef long double complex cmplx10;
typedef _Complex float __attribute__((mode(TC))) cmplx16;

enum { threads = 4, rounds = 1000 };

/* The names that were called, each once. */
static const char *called[1024];
static int calls;

static void count_call(const char *name)
{
    for (int i = 0; i < calls; i++)
        if (strcmp(called[i], name) == 0)
            return;
    called[calls++] = name;
}

/* A check that names the entry point instead of the file. */
#define EXPECT(name, condition) check_report(!!(condition), #name, __LINE__, #condition, 0, 1)
#define TEAM _Pragma("omp parallel num_threads(threads)")

/* Operands. Sums, products and quotients of these are exact in every type, and fit in the smallest. */
#define VALUES_int {1, 2, 3, 5, 11, -7}
#define VALUES_wrap {1, 2, 3, 5, 11, -7, -56, 100}
#define VALUES_real {1, 2, 3, 5, 11, -7, 0.5, -0.125}
#define VALUES_cmplx {1, 2 + 3 * I, 2 * I, 1 + I, 2 - 2 * I, -4}

/* Declares plain and capturing form; `take_NAME(x, b, flag)` calls the latter in whatever shape. */
#define DECLARE_value(f, c, T, R) \
    void f(void *, int, T *, R); \
    T c(void *, int, T *, R, int); \
    static T take_##c(T *x, R b, int flag) \
    { \
        return c(0, 0, x, b, flag); \
    }
#define DECLARE_pointer(f, c, T, R) \
    void f(void *, int, T *, R); \
    void c(void *, int, T *, R, T *, int); \
    static T take_##c(T *x, R b, int flag) \
    { \
        T out; \
        c(0, 0, x, b, &out, flag); \
        return out; \
    }
/* There is no capturing form. */
#define DECLARE_plain(f, c, T, R) \
    void f(void *, int, T *, R); \
    static T take_##c(T *x, R b, int flag) \
    { \
        T old = *x; \
        f(0, 0, x, b); \
        return flag ? *x : old; \
    }
#define COUNT_value(f, c) count_call(#f), count_call(#c)
#define COUNT_pointer(f, c) count_call(#f), count_call(#c)
#define COUNT_plain(f, c) count_call(#f)

/* Concurrent checks. Iterated: the same operation so many times in any order is a value known beforehand. */
#define ITERATED(f, c, captures, step, T, R, start, by, name) \
    do { \
        T want = start, x = start, y = start, z = start; \
        for (int i = 0; i < threads * rounds; i++) \
            want = step(want, by); \
        TEAM for (int i = 0; i < rounds; i++) \
        { \
            f(0, 0, &x, by); \
            if (captures) { \
                take_##c(&y, by, 0); \
                take_##c(&z, by, 1); \
            } \
        } \
        EXPECT(f, x == want); \
        EXPECT(c, !captures || (y == want && z == want)); \
    } while (0)
/* Neutral: an operation that changes nothing must not undo what one thread adds meanwhile. */
#define NEUTRAL(f, c, captures, step, T, R, start, by, add) \
    do { \
        T want = start, x = start, y = start; \
        (void)step; \
        for (int i = 0; i < rounds; i++) \
            want += 1; \
        TEAM for (int i = 0; i < rounds; i++) \
        { \
            if (omp_get_thread_num() == 0) { \
                add(0, 0, (void *)&x, 1); \
                add(0, 0, (void *)&y, 1); \
            } else { \
                f(0, 0, &x, by); \
                if (captures) \
                    take_##c(&y, by, i % 2); \
            } \
        } \
        EXPECT(f, x == want); \
        EXPECT(c, y == want); \
    } while (0)
/* Logical: what makes 1 of all but 0 must not bring back a 0 that was overwritten. */
#define LOGICAL(f, c, captures, step, T, R, start, by, name) \
    do { \
        T x = start, y = start; \
        int stale = 0, done = 0; \
        (void)step; \
        TEAM \
        { \
            if (omp_get_thread_num() == 0) { \
                for (int i = 0; i < rounds; i++) { \
                    __atomic_store_n(&x, 0, __ATOMIC_SEQ_CST), __atomic_store_n(&y, 0, __ATOMIC_SEQ_CST); \
                    __atomic_store_n(&x, 5, __ATOMIC_SEQ_CST), __atomic_store_n(&y, 5, __ATOMIC_SEQ_CST); \
                    for (int j = 0; j < 4; j++) \
                        stale += __atomic_load_n(&x, __ATOMIC_SEQ_CST) == 0 || \
                                 __atomic_load_n(&y, __ATOMIC_SEQ_CST) == 0; \
                } \
                __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST); \
            } else { \
                for (int i = 0; i < 100 * rounds && !__atomic_load_n(&done, __ATOMIC_RELAXED); i++) \
                    f(0, 0, &x, by), take_##c(&y, by, i % 2); \
            } \
        } \
        EXPECT(f, stale == 0); \
    } while (0)

/* One operation of one type. `expression` is in x and b; pairs for which `usable` is 0 are left out. */
#define UPDATE(shape, captures, T, R, op, tail, expression, usable, values, concurrent, start, by, add) \
    UPDATE_(shape, captures, T, R, op##tail, __kmpc_atomic_##T##_##op##tail, \
            __kmpc_atomic_##T##_##op##_cpt##tail, expression, usable, values, concurrent, start, by, add)
#define UPDATE_(shape, captures, T, R, id, f, c, expression, usable, values, concurrent, start, by, add) \
    DECLARE_##shape(f, c, T, R) static T step_##T##id(T x, R b) \
    { \
        return (T)(expression); \
    } \
    static int usable_##T##id(T x, R b) \
    { \
        (void)x; \
        (void)b; \
        return usable; \
    } \
    __attribute__((constructor)) static void enlist_##T##id(void); \
    static void test_##T##id(void) \
    { \
        T xs[] = VALUES_##values; \
        R bs[] = VALUES_##values; \
        COUNT_##shape(f, c); \
        for (unsigned i = 0; i < sizeof xs / sizeof *xs; i++) \
            for (unsigned j = 0; j < sizeof bs / sizeof *bs; j++) { \
                T want, x = xs[i], y = xs[i], z = xs[i], old, new; \
                R b = bs[j]; \
                if (!usable_##T##id(x, b)) \
                    continue; \
                want = step_##T##id(x, b); \
                f(0, 0, &x, b); \
                EXPECT(f, x == want); \
                old = take_##c(&y, b, 0), new = take_##c(&z, b, 1); \
                EXPECT(c, y == want && z == want); \
                EXPECT(c, old == xs[i] && new == want); \
            } \
        concurrent(f, c, captures, step_##T##id, T, R, start, by, add); \
    } \
    static void enlist_##T##id(void) \
    { \
        enlist(test_##T##id); \
    }

static void (*tests[1024])(void);
static int tests_enlisted;
static void enlist(void (*test)(void))
{
    tests[tests_enlisted++] = test;
}
#endif
