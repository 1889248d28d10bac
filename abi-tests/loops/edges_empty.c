// what: an empty loop whose unsigned bounds straddle 2^63
// skip: gcc 12 hands these bounds over as signed, which makes 2^63 iterations
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
    EACH(unsigned long long, 0x8000000000000000ull, i < 1, i++);
    return check_result();
}
