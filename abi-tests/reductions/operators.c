// what: every operator over every arithmetic type, against a serial loop
#include "check.h"
#include <complex.h>
#include <math.h>
#define P_(x) _Pragma(#x)
#define P(x) P_(x)
#define ARITH(type, op, opeq, start, value) \
    do { \
        type got = (type)(start), want = (type)(start), region = (type)(start); \
        P(omp parallel for reduction(op : got)) \
        for (int i = 0; i < 64; i++) \
            got opeq(type)(value); \
        P(omp parallel) \
        { \
            P(omp for reduction(op : region) schedule(dynamic, 5)) \
            for (int i = 0; i < 64; i++) \
                region opeq(type)(value); \
        } \
        for (int i = 0; i < 64; i++) \
            want opeq(type)(value); \
        if (got != want || region != want) \
            fprintf(stderr, "%s %s\n", #type, #op); \
        CHECK(got == want); \
        CHECK(region == want); \
    } while (0)
#define EXTREME(type, op, sign) \
    do { \
        type got = (type)3, want = (type)3; \
        P(omp parallel for reduction(op : got)) \
        for (int i = 0; i < 90; i++) { \
            type v = (type)((i * 53) % 97); \
            if (v sign got) \
                got = v; \
        } \
        for (int i = 0; i < 90; i++) { \
            type v = (type)((i * 53) % 97); \
            if (v sign want) \
                want = v; \
        } \
        CHECK(got == want); \
    } while (0)
int main(void)
{
    ARITH(char, +, +=, 7, i % 5);
    ARITH(char, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(signed char, +, +=, 7, i % 5);
    ARITH(signed char, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(unsigned char, +, +=, 7, i % 5);
    ARITH(unsigned char, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(short, +, +=, 7, i % 5);
    ARITH(short, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(unsigned short, +, +=, 7, i % 5);
    ARITH(unsigned short, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(int, +, +=, 7, i % 5);
    ARITH(int, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(unsigned, +, +=, 7, i % 5);
    ARITH(unsigned, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(long, +, +=, 7, i % 5);
    ARITH(long, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(unsigned long, +, +=, 7, i % 5);
    ARITH(unsigned long, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(long long, +, +=, 7, i % 5);
    ARITH(long long, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(unsigned long long, +, +=, 7, i % 5);
    ARITH(unsigned long long, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(float, +, +=, 7, i % 5);
    ARITH(float, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(double, +, +=, 7, i % 5);
    ARITH(double, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(long double, +, +=, 7, i % 5);
    ARITH(long double, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(float complex, +, +=, 7, i % 5);
    ARITH(float complex, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(double complex, +, +=, 7, i % 5);
    ARITH(double complex, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(long double complex, +, +=, 7, i % 5);
    ARITH(long double complex, *, *=, 1, i % 30 == 0 ? 2 : 1);
    ARITH(char, +, -=, 90, i % 2);
    ARITH(signed char, +, -=, 90, i % 2);
    ARITH(unsigned char, +, -=, 90, i % 2);
    ARITH(short, +, -=, 90, i % 2);
    ARITH(unsigned short, +, -=, 90, i % 2);
    ARITH(int, +, -=, 90, i % 2);
    ARITH(unsigned, +, -=, 90, i % 2);
    ARITH(long, +, -=, 90, i % 2);
    ARITH(unsigned long, +, -=, 90, i % 2);
    ARITH(long long, +, -=, 90, i % 2);
    ARITH(unsigned long long, +, -=, 90, i % 2);
    ARITH(float, +, -=, 90, i % 2);
    ARITH(double, +, -=, 90, i % 2);
    ARITH(long double, +, -=, 90, i % 2);
    ARITH(float complex, +, -=, 90, i % 2);
    ARITH(double complex, +, -=, 90, i % 2);
    ARITH(long double complex, +, -=, 90, i % 2);
    ARITH(char, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(char, |, |=, 1, i % 16);
    ARITH(char, ^, ^=, 1, i % 64);
    ARITH(signed char, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(signed char, |, |=, 1, i % 16);
    ARITH(signed char, ^, ^=, 1, i % 64);
    ARITH(unsigned char, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(unsigned char, |, |=, 1, i % 16);
    ARITH(unsigned char, ^, ^=, 1, i % 64);
    ARITH(short, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(short, |, |=, 1, i % 16);
    ARITH(short, ^, ^=, 1, i % 64);
    ARITH(unsigned short, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(unsigned short, |, |=, 1, i % 16);
    ARITH(unsigned short, ^, ^=, 1, i % 64);
    ARITH(int, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(int, |, |=, 1, i % 16);
    ARITH(int, ^, ^=, 1, i % 64);
    ARITH(unsigned, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(unsigned, |, |=, 1, i % 16);
    ARITH(unsigned, ^, ^=, 1, i % 64);
    ARITH(long, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(long, |, |=, 1, i % 16);
    ARITH(long, ^, ^=, 1, i % 64);
    ARITH(unsigned long, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(unsigned long, |, |=, 1, i % 16);
    ARITH(unsigned long, ^, ^=, 1, i % 64);
    ARITH(long long, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(long long, |, |=, 1, i % 16);
    ARITH(long long, ^, ^=, 1, i % 64);
    ARITH(unsigned long long, &, &=, 0x7f, 0x7f - (i % 4 == 1) * 2);
    ARITH(unsigned long long, |, |=, 1, i % 16);
    ARITH(unsigned long long, ^, ^=, 1, i % 64);
    EXTREME(char, max, >);
    EXTREME(char, min, <);
    EXTREME(signed char, max, >);
    EXTREME(signed char, min, <);
    EXTREME(unsigned char, max, >);
    EXTREME(unsigned char, min, <);
    EXTREME(short, max, >);
    EXTREME(short, min, <);
    EXTREME(unsigned short, max, >);
    EXTREME(unsigned short, min, <);
    EXTREME(int, max, >);
    EXTREME(int, min, <);
    EXTREME(unsigned, max, >);
    EXTREME(unsigned, min, <);
    EXTREME(long, max, >);
    EXTREME(long, min, <);
    EXTREME(unsigned long, max, >);
    EXTREME(unsigned long, min, <);
    EXTREME(long long, max, >);
    EXTREME(long long, min, <);
    EXTREME(unsigned long long, max, >);
    EXTREME(unsigned long long, min, <);
    EXTREME(float, max, >);
    EXTREME(float, min, <);
    EXTREME(double, max, >);
    EXTREME(double, min, <);
    EXTREME(long double, max, >);
    EXTREME(long double, min, <);
    int all = 1, any = 0, none = 1;
#pragma omp parallel for reduction(&& : all, none) reduction(|| : any)
    for (int i = 0; i < 100; i++) {
        all = all && i < 100;
        none = none && i != 50;
        any = any || i == 70;
    }
    CHECK_EQ(all, 1);
    CHECK_EQ(none, 0);
    CHECK_EQ(any, 1);
    return check_result();
}
