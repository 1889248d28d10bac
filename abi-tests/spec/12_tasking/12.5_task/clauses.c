// what: task @CLAUSES@: runs once, and @RULE@
// languages: c, c++
// each: CLAUSES ; RULE ; TEST ; AFTER ; PEER = ; is there after taskwait ; 1 ; 0 ; none / if(0) ; is done at once by the same thread ; omp_get_thread_num() == maker ; 1 ; none / if(task : i < 5) ; half are done at once ; i >= 5 || 1 ; 0 ; none / final(1) ; is final ; omp_in_final() ; 0 ; none / final(i < 3) ; some are final ; omp_in_final() == (i < 3) ; 0 ; none
// each: CLAUSES ; RULE ; TEST ; AFTER ; PEER = untied ; may move ; 1 ; 0 ; none / mergeable ; may share ; 1 ; 0 ; none / priority(i) ; may be early ; 1 ; 0 ; none / untied final(1) mergeable ; is final ; omp_in_final() ; 0 ; none / if(0) untied ; is done at once ; 1 ; 1 ; libomp / untied priority(9) if(i != 3) ; gets its value ; 1 ; 0 ; libomp
// each: WHERE ; OPEN = default ; omp parallel / four ; omp parallel num_threads(4) / alone ; omp parallel num_threads(1)
// peers: @PEER@ fails, because an assertion of its own ends the program
#include "check.h"
int main(void)
{
    int runs[64] = {0}, threads = 0, done = 0;
    omp_set_dynamic(0);
#pragma @OPEN@
    {
        threads = omp_get_num_threads();
        int maker = omp_get_thread_num();
        for (int i = 0; i < 10; i++) {
            int ready = 0;
#pragma omp task @CLAUSES@ firstprivate(i, maker) shared(runs, ready, done)
            {
                (void)maker;
                CHECK(@TEST@);
                __atomic_fetch_add(&runs[i], 1, __ATOMIC_RELAXED);
                __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
                __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
            }
            if (@AFTER@)
                CHECK_EQ(__atomic_load_n(&ready, __ATOMIC_ACQUIRE), 1);
#pragma omp taskwait
            CHECK_EQ(ready, 1);
        }
        CHECK_EQ(omp_in_final(), 0);
    }
    for (int i = 0; i < 10; i++)
        CHECK_EQ(runs[i], threads);
    CHECK_EQ(done, 10 * threads);
    return check_result();
}
