// what: loop construct with bind(@BIND@): each iteration once
// languages: c, c++
// each: CASE ; BIND ; OPEN ; CLAUSE ; SUM = parallel ; parallel ; omp parallel ;  ; 0 / parallel reduction(+ : sum) ; parallel ; omp parallel ; reduction(+ : sum) ; 1 / parallel collapse(1) ; parallel ; omp parallel ; collapse(1) ; 0 / parallel order(concurrent) ; parallel ; omp parallel ; order(concurrent) ; 0 / teams ; teams ; omp teams num_teams(2) ;  ; 0 / teams collapse(1) ; teams ; omp teams num_teams(2) ; collapse(1) ; 0 / teams order(concurrent) ; teams ; omp teams num_teams(2) ; order(concurrent) ; 0 / thread ; thread ; omp parallel num_threads(1) ;  ; 0 / thread reduction(+ : sum) ; thread ; omp parallel num_threads(1) ; reduction(+ : sum) ; 1 / thread collapse(1) ; thread ; omp parallel num_threads(1) ; collapse(1) ; 0 / thread order(concurrent) ; thread ; omp parallel num_threads(1) ; order(concurrent) ; 0
// skip: clang<19 it runs the loop as one thread would, in each of them
#include "check.h"
int main(void)
{
    int seen[100] = {0}, sum = 0;
#pragma @OPEN@
    {
#pragma omp loop bind(@BIND@) @CLAUSE@
        for (int i = 0; i < 100; i++) {
            seen[i]++;
            if (@SUM@)
                sum += i;
        }
    }
    CHECK_EQ(sum, @SUM@ * 4950);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(seen[i], 1);
    return check_result();
}
