// what: bounds at the ends of the index types, where a naive end + step or trip count wraps
#include "check.h"
#include <limits.h>
#define LOOP(type, schedule_text, init, condition, step) \
    do { \
        unsigned long long count = 0, sum = 0, want = 0, trips = 0; \
        PRAGMA(omp parallel for schedule(schedule_text) reduction(+ : count, sum)) \
        for (type i = init; condition; step) { \
            count++; \
            sum += (unsigned long long)i; \
        } \
        for (type i = init; condition; step) { \
            trips++; \
            want += (unsigned long long)i; \
        } \
        CHECK_EQ(count, trips); \
        CHECK_EQ(sum, want); \
    } while (0)
#define PRAGMA(text) PRAGMA_(text)
#define PRAGMA_(text) _Pragma(#text)
#define EACH(type, init, condition, step) \
    do { \
        LOOP(type, static, init, condition, step); \
        LOOP(type, static KOMMA 3, init, condition, step); \
        LOOP(type, dynamic, init, condition, step); \
        LOOP(type, dynamic KOMMA 4, init, condition, step); \
        LOOP(type, guided, init, condition, step); \
        LOOP(type, monotonic : dynamic KOMMA 2, init, condition, step); \
    } while (0)
#define KOMMA ,
int main(void)
{
    EACH(int, INT_MAX - 25, i < INT_MAX, i++);
    EACH(int, INT_MIN + 25, i > INT_MIN, i--);
    EACH(int, INT_MAX - 60, i < INT_MAX - 7, i += 7);
    EACH(int, INT_MIN, i < INT_MIN + 25, i++);
    EACH(unsigned, UINT_MAX - 25, i < UINT_MAX, i++);
    EACH(unsigned, 0x7fffffe0u, i < 0x80000020u, i++);
    EACH(long, LONG_MAX - 25, i < LONG_MAX, i++);
    EACH(long, LONG_MIN + 25, i > LONG_MIN, i--);
    EACH(unsigned long long, ULLONG_MAX - 25, i < ULLONG_MAX, i++);
    EACH(unsigned long long, 0x7fffffffffffffe0ull, i < 0x8000000000000020ull, i++);
    EACH(unsigned long long, ULLONG_MAX, i > ULLONG_MAX - 25, i--);
    EACH(int, 5, i < 5, i++);
    EACH(int, 6, i < 5, i++);
    EACH(unsigned, 6, i < 5, i++);
    EACH(unsigned long long, 5, i > 5, i--);
    EACH(short, 0, i < 100, i++);
    EACH(unsigned char, 200, i < 255, i++);
#ifdef __clang__ /* gcc 12 computes these trip counts in the index type, or passes a negative unsigned step \
                    as positive */
    EACH(int, INT_MIN, i < INT_MAX - 100000000, i += 100000000);
    EACH(int, INT_MAX, i > INT_MIN + 100000000, i -= 100000000);
    EACH(unsigned, 0, i < UINT_MAX - 100000000u, i += 100000000u);
    EACH(unsigned, 0x80000020u, i > 0x7fffffe0u, i -= 3);
    EACH(long, LONG_MIN, i < LONG_MAX - 500000000000000000L, i += 500000000000000000L);
    EACH(unsigned long long, 0, i < ULLONG_MAX - 1000000000000000000ull, i += 1000000000000000000ull);
#endif
    return check_result();
}
