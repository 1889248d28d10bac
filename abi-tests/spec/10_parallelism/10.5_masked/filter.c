// what: @CONSTRUCT@ runs on the thread it names and nobody waits
// languages: c, c++
// each: CONSTRUCT ; WHO ; SKIP = masked ; 0 ; clang<19 / masked filter(1) ; 1 ; clang<19 / masked filter(n - 1) ; n - 1 ; clang<19 / masked filter(id) ; id ; clang<19 / master ; 0 ; none
// skip: @SKIP@ it comes with later compilers
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), runs = 0, wanted = 0;
#pragma omp parallel
    {
        int id = omp_get_thread_num();
#pragma omp atomic
        wanted += id == @WHO@;
#pragma omp @CONSTRUCT@
        {
            CHECK_EQ(id, @WHO@);
#pragma omp atomic
            runs++;
        }
#pragma omp barrier
        CHECK_EQ(runs, wanted);
    }
    CHECK(runs >= (n > 1));
    return check_result();
}
