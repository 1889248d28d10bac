// what: a tree of tasks with @WIDTH@ children and depth @DEPTH@, @TIED@ and made under single @CLAUSE@, counts its leaves
// languages: c, c++
// each: WIDTH ; DEPTH = 1 ; 60 / 2 ; 8 / 5 ; 3 / 200 ; 1
// each: TIED ; WORD = tied ; / untied ; untied
// each: CLAUSE = / nowait
#include "check.h"
static int leaves;
static void grow(int depth)
{
    int below = 0;
    if (depth == 0) {
        __atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int i = 0; i < @WIDTH@; i++) {
#pragma omp task @WORD@ shared(below) firstprivate(depth)
        {
            grow(depth - 1);
            __atomic_fetch_add(&below, 1, __ATOMIC_RELAXED);
        }
    }
#pragma omp taskwait
    CHECK_EQ(below, @WIDTH@);
}
int main(void)
{
    int want = 1;
    for (int i = 0; i < @DEPTH@; i++)
        want *= @WIDTH@;
#pragma omp parallel
#pragma omp single @CLAUSE@
    grow(@DEPTH@);
    CHECK_EQ(leaves, want);
    return check_result();
}
