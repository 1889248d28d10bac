// what: taskgroup waits for @WHOM@, and for nothing made before it
// languages: c, c++
// each: WHOM ; DEPTH = its tasks ; 0 / theirs ; 1 / three generations ; 3
// each: NEST = 1 / 2 / 5
#include "check.h"
static void below(int depth, int *count)
{
#pragma omp task firstprivate(depth, count)
    {
        if (depth > 0)
            below(depth - 1, count);
#pragma omp taskyield
        __atomic_fetch_add(count, 1, __ATOMIC_RELEASE);
    }
}
static void group(int nest)
{
    int count = 0;
#pragma omp taskgroup
    {
        if (nest > 1)
            group(nest - 1);
        for (int i = 0; i < 5; i++)
            below(@DEPTH@, &count);
    }
    CHECK_EQ(count, 5 * (@DEPTH@ + 1));
}
int main(void)
{
    int release = 0, before = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task shared(release, before)
        {
            before = 1;
        }
        group(@NEST@);
        release = 1;
    }
    CHECK_EQ(before + release, 2);
    return check_result();
}
