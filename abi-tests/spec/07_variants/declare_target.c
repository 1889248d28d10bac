// what: @DIRECTIVE@: function and variable in target regions on the host
// languages: c, c++
// each: DIRECTIVE ; BEGIN ; END ; SKIP = declare target ; declare target ; end declare target ; none / begin declare target ; begin declare target ; end declare target ; gcc
// each: WHERE ; OPEN = a target region ; omp target / a league ; omp target teams num_teams(1) / a region of it ; omp target parallel num_threads(1)
// skip: @SKIP@ it comes with later compilers
// skip: clang<19 it comes with later compilers
#include "check.h"
#pragma omp @BEGIN@
int counter = 3;
int next(void);
int next(void) { return ++counter; }
#pragma omp @END@
int main(void)
{
    int got = 0;
#pragma @OPEN@ map(tofrom : got)
    got = next();
    CHECK_EQ(got, 4);
#pragma omp target update from(counter)
    CHECK_EQ(counter, 4);
    return check_result();
}
