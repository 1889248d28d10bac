// what: a loop that one thread cancels ends for the others, too, at their cancellation points; the next loop is whole
// threads: 2,3,4,8
// env: OMP_CANCELLATION=true
// peers: libomp fails, because its stealing schedule asserts when a loop is cancelled
#include "check.h"
#include <unistd.h>
enum { N = 2000 };
#define PRAGMA(text) _Pragma(#text)
#define ONE_CANCELS(schedule_text) \
    do { \
        int ended = 0, whole = 0; \
        PRAGMA(omp parallel) \
        { \
            PRAGMA(omp for schedule_text) \
            for (int i = 0; i < N; i++) { \
                if (i == 0) { \
                    PRAGMA(omp cancel for) \
                } \
                PRAGMA(omp cancellation point for) \
                usleep(100); \
                PRAGMA(omp atomic) \
                ended++; \
            } \
            PRAGMA(omp for schedule_text) \
            for (int i = 0; i < N; i++) { \
                PRAGMA(omp cancel for if (i < 0)) /* gcc drops cancellation points of loops that nobody cancels */ \
                PRAGMA(omp cancellation point for) \
                PRAGMA(omp atomic) \
                whole++; \
            } \
        } \
        CHECK(ended < N / 2); \
        CHECK_EQ(whole, N); \
    } while (0)
int main(void)
{
    ONE_CANCELS(schedule(static));
    ONE_CANCELS(schedule(static, 1));
    ONE_CANCELS(schedule(dynamic));
    ONE_CANCELS(schedule(guided));
    return check_result();
}
