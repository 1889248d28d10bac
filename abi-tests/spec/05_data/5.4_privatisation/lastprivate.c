// what: lastprivate on @CONSTRUCT@ takes the value of the sequentially last iteration
// languages: c, c++
// each: CONSTRUCT ; OPEN ; LOOP = static ; omp parallel ; omp for schedule(static, 3) lastprivate(last) / dynamic ; omp parallel ; omp for schedule(dynamic) lastprivate(last) / guided firstprivate ; omp parallel ; omp for schedule(guided) firstprivate(last) lastprivate(last) / parallel for ; ; omp parallel for lastprivate(last) / simd ; ; omp simd lastprivate(last)
// each: CONSTRUCT ; OPEN ; LOOP = for simd ; omp parallel ; omp for simd schedule(dynamic, 7) lastprivate(last) / taskloop ; omp parallel master ; omp taskloop lastprivate(last) grainsize(5) / ordered ; omp parallel ; omp for ordered schedule(dynamic) lastprivate(last) / distribute ; omp teams num_teams(2) ; omp distribute lastprivate(last) / loop ; omp parallel ; omp for nowait schedule(static, 1) lastprivate(last)
// peers: libomp fails, because the thread with the last iteration is not always told so under a dynamic schedule
#include "check.h"
int main(void)
{
    int last = -1, i, sum = 0;
#pragma @OPEN@
    {
#pragma @LOOP@
        for (i = 0; i < 103; i++) {
            last = i * 2;
            __atomic_fetch_add(&sum, i, __ATOMIC_RELAXED);
        }
    }
    CHECK_EQ(last, 204);
    CHECK_EQ(sum, 5253);
    return check_result();
}
