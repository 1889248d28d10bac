// what: reduction(@OP@) that tasks and their tasks join by in_reduction, under @OUTER@
// languages: c, c++
// each: OUTER ; OPEN ; INNER ; LOOP = taskgroup ; omp parallel master ; omp taskgroup task_reduction(@OP@ : x) ; for (int v = 1; v <= 12; v++) / parallel ; omp parallel reduction(task, @OP@ : x) ; omp master ; for (int v = 1; v <= 12; v++) / for ; omp parallel ; omp for schedule(dynamic) reduction(task, @OP@ : x) ; for (int v = 1; v <= 12; v++)
// each: OP ; STEP ; START = + ; x += v ; 9 / * ; x *= 1 + (v == 3) ; 5 / max ; if (v > x) x = v ; 2 / || ; x = x || v == 5 ; 0 / ^ ; x ^= v ; 64
#include "check.h"
static int alone(int x)
{
    for (int v = 1; v <= 24; v++)
        @STEP@;
    return x;
}
int main(void)
{
    int x = @START@, want = alone(@START@);
#pragma @OPEN@
    {
#pragma @INNER@
        @LOOP@ {
#pragma omp task in_reduction(@OP@ : x)
            {
                @STEP@;
#pragma omp task in_reduction(@OP@ : x) firstprivate(v)
                {
                    v += 12;
                    @STEP@;
                }
#pragma omp taskwait
            }
        }
    }
    CHECK_EQ(x, want);
    CHECK(want != @START@);
    return check_result();
}
