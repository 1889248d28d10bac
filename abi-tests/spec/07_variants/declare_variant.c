// what: declare variant: in @WHERE@ the call goes to @WHOM@
// languages: c, c++
// each: WHERE ; OPEN ; WHOM ; WANT = sequential code ; (void)0; ; the base ; 1 / a region ; _Pragma("omp parallel num_threads(2)") ; the variant of parallel ; 2 / a league ; _Pragma("omp teams num_teams(2)") ; the base ; 1 / a task ; _Pragma("omp task if(0)") ; the base ; 1 / simd ; for (int i = 0; i < 2; i++) ; the base ; 1
#include "check.h"
static int in_parallel(void) { return 2; }
static int on_host(void) { return 3; }
static int on_gpu(void) { return 4; }
#pragma omp declare variant(in_parallel) match(construct = {parallel})
static int where(void) { return 1; }
#pragma omp declare variant(on_host) match(device = {kind(host)})
static int kind(void) { return 1; }
#pragma omp declare variant(on_gpu) match(device = {kind(gpu)})
static int other(void) { return 1; }
int main(void)
{
    (void)in_parallel, (void)on_host, (void)on_gpu;
    @OPEN@
    {
        CHECK_EQ(where(), @WANT@);
        CHECK_EQ(kind(), 3);
        CHECK_EQ(other(), 1);
    }
    return check_result();
}
