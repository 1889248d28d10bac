// what: requires @CLAUSE@: the program is as before
// languages: c, c++
// each: CLAUSE ; SKIP = atomic_default_mem_order(seq_cst) ; none / atomic_default_mem_order(acq_rel) ; none / atomic_default_mem_order(relaxed) ; none / dynamic_allocators ; none / unified_address ; gcc / unified_shared_memory ; gcc
// skip: @SKIP@ it does not take the clause yet
// skip: clang<19 it comes with later compilers
#include "check.h"
#pragma omp requires @CLAUSE@
int main(void)
{
    int x = 0, seen = 0, flag = 0;
#pragma omp parallel num_threads(4) shared(x)
    for (int i = 0; i < 100; i++) {
#pragma omp atomic
        x++;
    }
    CHECK_EQ(x, 400);
#pragma omp parallel num_threads(2) shared(flag, x, seen)
    if (omp_get_num_threads() == 1 || omp_get_thread_num() == 0) {
#pragma omp atomic write
        flag = 1;
    } else {
        while (!seen) {
#pragma omp atomic read
            seen = flag;
#pragma omp taskyield
        }
    }
#pragma omp target map(tofrom : x)
    x += 5;
    CHECK_EQ(x, 405);
    return check_result();
}
