// what: each of the 506 __kmpc_atomic_* entry points, serially and from four threads
// ours: gcc's runtime has none of them, clang's no _fp and no 128-bit complex ones
// threads: 4
// mode: link
// flags: all -fwrapv
// opt: -O0
// timeout: 60
#include "kmpc_atomic.h"

#define ALWAYS 1
#define NONZERO_B (b != 0)
#define NONZERO_X (x != 0)
#define COUNT_B (b >= 0 && b < 8)
#define COUNT_X (x >= 0 && x < 8)

/* ---- integers ---- */
#define MASK(T) (sizeof(T) == 8 ? 63 : 31)
#define SIGNED(T) \
    UPDATE(value, 1, T, T, add, , x + b, ALWAYS, wrap, ITERATED, 5, 3, ) \
    UPDATE(value, 1, T, T, sub, , x - b, ALWAYS, wrap, ITERATED, 5, 3, ) \
    UPDATE(value, 1, T, T, sub, _rev, b - x, ALWAYS, wrap, ITERATED, 5, 3, ) \
    UPDATE(value, 1, T, T, mul, , x *b, ALWAYS, wrap, ITERATED, 5, 3, ) \
    UPDATE(value, 1, T, T, andb, , x &b, ALWAYS, wrap, NEUTRAL, 0, (T) - 1, __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, orb, , x | b, ALWAYS, wrap, NEUTRAL, 0, 0, __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, xor, , x ^ b, ALWAYS, wrap, NEUTRAL, 0, 0, __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, neqv, , x ^ b, ALWAYS, wrap, NEUTRAL, 0, 0, __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, eqv, , ~(x ^ b), ALWAYS, wrap, NEUTRAL, 0, (T) - 1, __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, andl, , x &&b, ALWAYS, wrap, LOGICAL, 0, 1, ) \
    UPDATE(value, 1, T, T, orl, , x || b, ALWAYS, wrap, LOGICAL, 0, 0, ) \
    UPDATE(value, 1, T, T, min, , b < x ? b : x, ALWAYS, wrap, NEUTRAL, 0, \
           (T)((1ULL << (8 * sizeof(T) - 1)) - 1), __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, max, , b > x ? b : x, ALWAYS, wrap, NEUTRAL, 0, (T)(1ULL << (8 * sizeof(T) - 1)), \
           __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, shl, , x << b, COUNT_B, wrap, NEUTRAL, 0, 0, __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, shl, _rev, b << (x & MASK(T)), COUNT_X, wrap, ITERATED, 1, 2, ) \
    UPDATE(plain, 0, T, double, mul, _float8, x *b, FITS(T, x *b), int, NEUTRAL, 0, 1, \
           __kmpc_atomic_##T##_add) \
    UPDATE(plain, 0, T, double, div, _float8, x / b, FITS(T, x / b), int, NEUTRAL, 0, 1, \
           __kmpc_atomic_##T##_add)
#define EITHER(T, add) \
    UPDATE(value, 1, T, T, div, , x / b, NONZERO_B, wrap, NEUTRAL, 0, 1, add) \
    UPDATE(value, 1, T, T, div, _rev, b / x, NONZERO_X, wrap, ITERATED, 3, 12, ) \
    UPDATE(value, 1, T, T, shr, , x >> b, COUNT_B, wrap, NEUTRAL, 0, 0, add) \
    UPDATE(value, 1, T, T, shr, _rev, b >> x, COUNT_X, wrap, ITERATED, 0, 1, ) \
    QUAD(value, T, FITS, NEUTRAL, add)
/* Conversion of what does not fit is undefined. */
#define FITS(T, value) ((value) <= 100 && (value) >= ((T) - 1 < 0 ? -100 : 0))

#ifdef WITHOUT_QUAD /* for LLVM's library, which has a part of them */
#define QUAD(shape, T, fits, concurrent, add)
#else
#define QUAD(shape, T, fits, concurrent, adder) \
    UPDATE(shape, 1, T, float16, add, _fp, x + b, fits(T, x + b), int, concurrent, 0, 0, adder) \
    UPDATE(shape, 1, T, float16, sub, _fp, x - b, fits(T, x - b), int, concurrent, 0, 0, adder) \
    UPDATE(shape, 1, T, float16, sub, _rev_fp, b - x, fits(T, b - x), int, ITERATED, 5, 12, adder) \
    UPDATE(shape, 1, T, float16, mul, _fp, x *b, fits(T, x *b), int, concurrent, 0, 1, adder) \
    UPDATE(shape, 1, T, float16, div, _fp, x / b, fits(T, x / b), int, concurrent, 0, 1, adder) \
    UPDATE(shape, 1, T, float16, div, _rev_fp, b / x, fits(T, b / x), int, ITERATED, 3, 12, adder)
#endif

SIGNED(fixed1)
SIGNED(fixed2)
SIGNED(fixed4)
SIGNED(fixed8)
EITHER(fixed1, __kmpc_atomic_fixed1_add)
EITHER(fixed2, __kmpc_atomic_fixed2_add)
EITHER(fixed4, __kmpc_atomic_fixed4_add)
EITHER(fixed8, __kmpc_atomic_fixed8_add)
EITHER(fixed1u, __kmpc_atomic_fixed1_add)
EITHER(fixed2u, __kmpc_atomic_fixed2_add)
EITHER(fixed4u, __kmpc_atomic_fixed4_add)
EITHER(fixed8u, __kmpc_atomic_fixed8_add)

/* ---- real and complex numbers ---- */
#define FIELD(shape, T, values) \
    UPDATE(shape, 1, T, T, add, , x + b, ALWAYS, values, ITERATED, 5, 3, ) \
    UPDATE(shape, 1, T, T, sub, , x - b, ALWAYS, values, ITERATED, 5, 3, ) \
    UPDATE(shape, 1, T, T, sub, _rev, b - x, ALWAYS, values, ITERATED, 5, 3, ) \
    UPDATE(shape, 1, T, T, mul, , x *b, ALWAYS, values, NEUTRAL, 0, 1, __kmpc_atomic_##T##_add) \
    UPDATE(shape, 1, T, T, div, , x / b, NONZERO_B, values, NEUTRAL, 0, 1, __kmpc_atomic_##T##_add) \
    UPDATE(shape, 1, T, T, div, _rev, b / x, NONZERO_X, values, ITERATED, 3, 12, )
#define REAL(T) \
    FIELD(value, T, real) \
    UPDATE(value, 1, T, T, min, , b < x ? b : x, ALWAYS, real, NEUTRAL, 0, 1e9, __kmpc_atomic_##T##_add) \
    UPDATE(value, 1, T, T, max, , b > x ? b : x, ALWAYS, real, NEUTRAL, 0, -1, __kmpc_atomic_##T##_add)
#define MIXED(T, R, tail, values) \
    UPDATE(plain, 0, T, R, add, tail, x + b, ALWAYS, values, NEUTRAL, 0, 0, __kmpc_atomic_##T##_add) \
    UPDATE(plain, 0, T, R, sub, tail, x - b, ALWAYS, values, NEUTRAL, 0, 0, __kmpc_atomic_##T##_add) \
    UPDATE(plain, 0, T, R, mul, tail, x *b, ALWAYS, values, NEUTRAL, 0, 1, __kmpc_atomic_##T##_add) \
    UPDATE(plain, 0, T, R, div, tail, x / b, NONZERO_B, values, NEUTRAL, 0, 1, __kmpc_atomic_##T##_add)
#define REAL_FITS(T, value) 1

REAL(float4)
REAL(float8)
REAL(float10)
FIELD(pointer, cmplx4, cmplx)
FIELD(value, cmplx8, cmplx)
FIELD(value, cmplx10, cmplx)
MIXED(float4, float8, _float8, real)
MIXED(cmplx4, cmplx8, _cmplx8, cmplx)
QUAD(value, float4, REAL_FITS, NEUTRAL, __kmpc_atomic_float4_add)
QUAD(value, float8, REAL_FITS, NEUTRAL, __kmpc_atomic_float8_add)
QUAD(value, float10, REAL_FITS, NEUTRAL, __kmpc_atomic_float10_add)
#ifndef WITHOUT_QUAD
REAL(float16)
FIELD(value, cmplx16, cmplx)
#endif

/* ---- read, write, swap ---- */
#define SWAP_value(T) \
    T __kmpc_atomic_##T##_swp(void *, int, T *, T); \
    static T swap_##T(T *x, T b) \
    { \
        return __kmpc_atomic_##T##_swp(0, 0, x, b); \
    }
#define SWAP_pointer(T) \
    void __kmpc_atomic_##T##_swp(void *, int, T *, T, T *); \
    static T swap_##T(T *x, T b) \
    { \
        T out; \
        __kmpc_atomic_##T##_swp(0, 0, x, b, &out); \
        return out; \
    }
/* Readers see one of two values whole, and what is swapped in comes out once. */
#define TRANSFER(shape, T, one, other) \
    T __kmpc_atomic_##T##_rd(void *, int, T *); \
    void __kmpc_atomic_##T##_wr(void *, int, T *, T); \
    SWAP_##shape(T) static void transfer_##T(void) \
    { \
        T x = one, tokens = 0; \
        int torn = 0; \
        double in = 0, out = 0; \
        count_call("__kmpc_atomic_" #T "_rd"), count_call("__kmpc_atomic_" #T "_wr"), \
            count_call("__kmpc_atomic_" #T "_swp"); \
        __kmpc_atomic_##T##_wr(0, 0, &x, other); \
        EXPECT(__kmpc_atomic_##T##_wr, x == (T)(other)); \
        EXPECT(__kmpc_atomic_##T##_rd, __kmpc_atomic_##T##_rd(0, 0, &x) == (T)(other)); \
        _Pragma("omp parallel num_threads(threads) reduction(+ : torn, in, out)") for (int i = 0; \
                                                                                       i < rounds; i++) \
        { \
            T seen = __kmpc_atomic_##T##_rd(0, 0, &x); \
            int token = (i * threads + omp_get_thread_num()) % 100; \
            torn += seen != (T)(one) && seen != (T)(other); \
            if (i % 2) \
                __kmpc_atomic_##T##_wr(0, 0, &x, one); \
            else \
                __kmpc_atomic_##T##_wr(0, 0, &x, other); \
            in += token; \
            out += (double)swap_##T(&tokens, token); \
        } \
        EXPECT(__kmpc_atomic_##T##_rd, torn == 0); \
        EXPECT(__kmpc_atomic_##T##_swp, in == out + (double)tokens); \
    } \
    __attribute__((constructor)) static void enlist_transfer_##T(void) \
    { \
        enlist(transfer_##T); \
    }
TRANSFER(value, fixed1, 0, -1)
TRANSFER(value, fixed2, 0x0102, 0x0304)
TRANSFER(value, fixed4, 0, -1)
TRANSFER(value, fixed8, 0, -1)
TRANSFER(value, float4, 1.25f, -3e9f)
TRANSFER(value, float8, 1.0 / 3, -2e99 / 7)
TRANSFER(value, float10, 1.0L / 3, -2e99L / 7)
TRANSFER(pointer, cmplx4, 1 + I, 2 + 2 * I)
TRANSFER(value, cmplx8, 1 + I, 2 + 2 * I)
TRANSFER(value, cmplx10, 1 + I, 2 + 2 * I)
#ifndef WITHOUT_QUAD
TRANSFER(value, float16, (float16)1 / 3, (float16)-2e99 / 7)
TRANSFER(value, cmplx16, 1 + I, 2 + 2 * I)
#endif

/* ---- compare and swap ---- */
#define COMPARE(bytes, T) \
    _Bool __kmpc_atomic_bool_##bytes##_cas(void *, int, T *, T, T); \
    T __kmpc_atomic_val_##bytes##_cas(void *, int, T *, T, T); \
    _Bool __kmpc_atomic_bool_##bytes##_cas_cpt(void *, int, T *, T, T, T *); \
    T __kmpc_atomic_val_##bytes##_cas_cpt(void *, int, T *, T, T, T *); \
    static void compare_##T(void) \
    { \
        T x = 5, v = 77, sums[4] = {0}; \
        count_call("bool_" #bytes), count_call("val_" #bytes), count_call("bool_cpt_" #bytes), \
            count_call("val_cpt_" #bytes); \
        EXPECT(bool_##bytes##_cas, !__kmpc_atomic_bool_##bytes##_cas(0, 0, &x, 4, 9) && x == 5); \
        EXPECT(bool_##bytes##_cas, __kmpc_atomic_bool_##bytes##_cas(0, 0, &x, 5, 9) && x == 9); \
        EXPECT(val_##bytes##_cas, __kmpc_atomic_val_##bytes##_cas(0, 0, &x, 4, 8) == 9 && x == 9); \
        EXPECT(val_##bytes##_cas, __kmpc_atomic_val_##bytes##_cas(0, 0, &x, 9, 8) == 9 && x == 8); \
        EXPECT(bool_##bytes##_cas_cpt, \
               __kmpc_atomic_bool_##bytes##_cas_cpt(0, 0, &x, 8, 7, &v) && x == 7 && v == 77); \
        EXPECT(bool_##bytes##_cas_cpt, \
               !__kmpc_atomic_bool_##bytes##_cas_cpt(0, 0, &x, 8, 6, &v) && x == 7 && v == 7); \
        EXPECT(val_##bytes##_cas_cpt, \
               __kmpc_atomic_val_##bytes##_cas_cpt(0, 0, &x, 7, 3, &v) == 7 && x == 3 && v == 3); \
        EXPECT(val_##bytes##_cas_cpt, \
               __kmpc_atomic_val_##bytes##_cas_cpt(0, 0, &x, 7, 4, &v) == 3 && x == 3 && v == 3); \
        TEAM for (int i = 0; i < rounds; i++) \
        { \
            T old, out; \
            do \
                old = __atomic_load_n(&sums[0], __ATOMIC_RELAXED); \
            while (!__kmpc_atomic_bool_##bytes##_cas(0, 0, &sums[0], old, old + 1)); \
            do \
                old = __atomic_load_n(&sums[1], __ATOMIC_RELAXED); \
            while (__kmpc_atomic_val_##bytes##_cas(0, 0, &sums[1], old, old + 1) != old); \
            for (old = 0; !__kmpc_atomic_bool_##bytes##_cas_cpt(0, 0, &sums[2], old, old + 1, &out);) \
                old = out; \
            for (old = 0; __kmpc_atomic_val_##bytes##_cas_cpt(0, 0, &sums[3], old, old + 1, &out) != old;) \
                old = out; \
        } \
        for (int i = 0; i < 4; i++) \
            EXPECT(cas_##bytes, sums[i] == (T)(threads * rounds)); \
    } \
    __attribute__((constructor)) static void enlist_compare_##T(void) \
    { \
        enlist(compare_##T); \
    }
COMPARE(1, fixed1)
COMPARE(2, fixed2)
COMPARE(4, fixed4)
COMPARE(8, fixed8)

/* ---- an operation of the compiler's, of so many bytes ---- */
#define CALL(bytes, T) \
    static void add_##bytes(void *out, void *left, void *right) \
    { \
        T a, b; \
        memcpy(&a, left, bytes), memcpy(&b, right, bytes); \
        for (unsigned i = 0; i < bytes / sizeof a.x[0]; i++) \
            a.x[i] += b.x[i]; \
        memcpy(out, &a, bytes); \
    } \
    void __kmpc_atomic_##bytes(void *, int, void *, void *, void (*)(void *, void *, void *)); \
    static void call_##bytes(void) \
    { \
        T one, sum __attribute__((aligned(16))); \
        memset(&sum, 0, sizeof sum); \
        for (unsigned i = 0; i < sizeof one / sizeof one.x[0]; i++) \
            one.x[i] = 1; \
        count_call("__kmpc_atomic_" #bytes); \
        TEAM for (int i = 0; i < rounds; i++) __kmpc_atomic_##bytes(0, 0, &sum, &one, add_##bytes); \
        for (unsigned i = 0; i < bytes / sizeof one.x[0]; i++) \
            EXPECT(__kmpc_atomic_##bytes, (unsigned char)sum.x[i] == (unsigned char)(threads * rounds)); \
    } \
    __attribute__((constructor)) static void enlist_call_##bytes(void) \
    { \
        enlist(call_##bytes); \
    }
#define BYTES(bytes) \
    typedef struct { \
        unsigned char x[bytes]; \
    } bytes_##bytes; \
    CALL(bytes, bytes_##bytes)
BYTES(1)
BYTES(2)
BYTES(4)
BYTES(8)
typedef struct {
    long x[2];
} bytes_16;
typedef struct {
    unsigned short x[8];
} bytes_10;
typedef struct {
    int x[5];
} bytes_20;
typedef struct {
    long x[4];
} bytes_32;
CALL(10, bytes_10)
CALL(16, bytes_16)
CALL(20, bytes_20)
CALL(32, bytes_32)

/* ---- anything else ---- */
void __kmpc_atomic_start(void), __kmpc_atomic_end(void);
static void bracketed(void)
{
    long sum = 0;
    count_call("__kmpc_atomic_start"), count_call("__kmpc_atomic_end");
    TEAM for (int i = 0; i < rounds; i++)
    {
        __kmpc_atomic_start();
        sum += 1;
        __kmpc_atomic_end();
    }
    EXPECT(__kmpc_atomic_start, sum == threads * rounds);
}

/* A location that no boundary of its size holds: Fortran's COMMON has such. */
static void unaligned(void)
{
    struct __attribute__((packed)) {
        char pad;
        double a;
        long double b;
        double complex c;
    } s = {0, 0, 0, 0};
    double *a = (double *)((char *)&s + 1);
    long double *b = (long double *)((char *)&s + 9);
    double complex *c = (double complex *)((char *)&s + 25);
    TEAM for (int i = 0; i < rounds; i++)
    {
        __kmpc_atomic_float8_add(0, 0, a, 1);
        __kmpc_atomic_float10_add(0, 0, b, 1);
        __kmpc_atomic_cmplx8_add(0, 0, c, 1 - I);
    }
    EXPECT(unaligned,
           s.a == threads * rounds && s.b == threads * rounds && s.c == threads * rounds * (1 - I));
}

int main(void)
{
    for (int i = 0; i < tests_enlisted; i++)
        tests[i]();
    bracketed();
    unaligned();
#ifdef WITHOUT_QUAD
    CHECK_EQ(calls, 340);
#else
    CHECK_EQ(calls, 506);
#endif
    return check_result();
}
