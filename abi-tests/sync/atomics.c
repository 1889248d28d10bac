// what: atomic update, read, write, capture over every width: integers to 16 bytes, long double, complex
#include "check.h"
#include <complex.h>
#define COUNT(type) \
    do { \
        type x = 0; \
        long captured = 0; \
        _Pragma("omp parallel reduction(+ : captured)") for (int i = 0; i < 100; i++) \
        { \
            type seen; \
            _Pragma("omp atomic") x += 1; \
            _Pragma("omp atomic capture") \
            { \
                seen = x; \
                x += 1; \
            } \
            captured += seen != (type) - 1; \
            _Pragma("omp atomic") x -= 1; \
        } \
        CHECK(x == (type)(100 * n)); \
        CHECK_EQ(captured, 100L * n); \
    } while (0)
int main(void)
{
    int n = omp_get_max_threads();
    COUNT(short);
    COUNT(unsigned short);
    COUNT(int);
    COUNT(unsigned);
    COUNT(long);
    COUNT(unsigned long long);
    COUNT(float);
    COUNT(double);
    COUNT(long double);
#ifdef __clang__ /* gcc 12 refuses these three */
    COUNT(float complex);
    COUNT(double complex);
    COUNT(__int128);
#endif
    unsigned char c = 0;
    unsigned bits = 0, anded = ~0u, xored = 0;
    double product = 1;
    long double wide = 0, seen = 0;
    int flag = 0, read_back = 0;
#pragma omp parallel
    {
        unsigned id = (unsigned)omp_get_thread_num();
#pragma omp atomic
        c++;
#pragma omp atomic
        bits |= 1u << id;
#pragma omp atomic
        anded &= ~(1u << id);
#pragma omp atomic
        xored ^= 1u << id;
#pragma omp atomic
        product *= 2.0;
#pragma omp atomic write
        flag = 5;
#pragma omp barrier
#pragma omp atomic read
        read_back = flag;
#pragma omp atomic seq_cst
        wide = wide + 0.5L;
#pragma omp barrier
#pragma omp atomic read
        seen = wide;
    }
    unsigned mask = (1u << n) - 1;
    double want = 1;
    for (int i = 0; i < n; i++)
        want *= 2;
    CHECK_EQ(c, n);
    CHECK_EQ(bits, mask);
    CHECK_EQ(anded, ~mask);
    CHECK_EQ(xored, mask);
    CHECK(product == want);
    CHECK_EQ(read_back, 5);
    CHECK(wide == 0.5L * n);
    CHECK(seen == 0.5L * n);
    return check_result();
}
