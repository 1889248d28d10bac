// what: all descendants of a final task are final, and run at once, before their generating task goes on
#include "check.h"
static void below(int depth)
{
    int ran = 0;
    CHECK(omp_in_final());
    if (depth == 0)
        return;
#pragma omp task shared(ran) firstprivate(depth)
    {
        below(depth - 1);
        ran++;
    }
    CHECK_EQ(ran, 1);
#pragma omp task shared(ran) firstprivate(depth) untied
    {
        CHECK(omp_in_final());
        ran++;
    }
    CHECK_EQ(ran, 2);
}
int main(void)
{
    int ordinary = 0;
    CHECK(!omp_in_final());
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task final(i % 2) shared(ordinary) firstprivate(i)
        {
            if (i % 2) {
                below(4);
            } else {
                CHECK(!omp_in_final());
#pragma omp atomic
                ordinary++;
            }
        }
    }
    CHECK_EQ(ordinary, 10);
    return check_result();
}
