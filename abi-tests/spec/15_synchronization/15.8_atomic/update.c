// what: atomic @FORM@ of @TYPE@ loses nothing
// languages: c, c++
// each: FORM ; CLAUSE ; STEP ; WANT = add ; update ; x += 1 ; 40 * n / subtract ; update ; x -= 2 ; -80 * n / reversed ; update ; x = 1 - x ; 40 * n % 2 / capture old ; capture ; got = x++ ; 40 * n / capture new ; capture ; got = x += 3 ; 120 * n / seq_cst ; seq_cst update ; x++ ; 40 * n
// each: TYPE = int / short / long long / float / double / long double
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), wrong = 0;
    @TYPE@ x = 0;
#pragma omp parallel reduction(+ : wrong)
    for (int i = 0; i < 40; i++) {
        @TYPE@ got = 0;
#pragma omp atomic @CLAUSE@
        @STEP@;
        wrong += got != got;
    }
    CHECK(x == (@TYPE@)(@WANT@));
    CHECK_EQ(wrong, 0);
    return check_result();
}
