// what: taskyield in a @KIND@ task lets @WHO@ go on
// languages: c, c++
// each: KIND ; CLAUSE ; PEER = tied ; ; none / untied ; untied ; libomp / final ; final(1) ; none
// peers: @PEER@ fails, because it counts tied tasks wrongly when an undeferred one is untied
// each: WHO ; THREADS = another thread ; 2 / a sibling on another thread ; 3
#include "check.h"
int main(void)
{
    int flag = 0, ended = 0;
#pragma omp parallel num_threads(@THREADS@) shared(flag, ended)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp task @CLAUSE@ if(0) shared(flag, ended)
            {
                while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield
                }
                __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
            }
        }
        if (omp_get_thread_num() == 0) {
#pragma omp taskyield
            __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
        }
    }
    CHECK_EQ(ended, 1);
    return check_result();
}
