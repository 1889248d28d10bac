// what: schedule(@SCHEDULE@) over @TYPE@ from @FIRST@ @TEST@ @LAST@ step @STEP@ runs each iteration once
// languages: c, c++
// each: SCHEDULE = static / static,1 / static,7 / dynamic / dynamic,5 / guided / guided,4 / auto / runtime / monotonic:dynamic,3 / nonmonotonic:guided,2
// each: TYPE ; FIRST ; TEST ; LAST ; STEP ; COUNT = int ; -50 ; < ; 51 ; 1 ; 101 / unsigned ; 4294967200u ; < ; 4294967290u ; 7 ; 13
// each: TYPE ; FIRST ; TEST ; LAST ; STEP ; COUNT = long ; 300 ; >= ; -300 ; -5 ; 121 / unsigned long long ; 18446744073709551500ull ; <= ; 18446744073709551600ull ; 3 ; 34
#include "check.h"
static int seen[1000];
int main(void)
{
    int threads = 0;
#pragma omp parallel
    {
        int chunks = 0;
#pragma omp for schedule(@SCHEDULE@)
        for (@TYPE@ i = @FIRST@; i @TEST@ @LAST@; i += @STEP@) {
            long index = (long)(i - (@TYPE@)(@FIRST@)) / (@STEP@);
            if (index >= 0 && index < @COUNT@)
                __atomic_fetch_add(&seen[index], 1, __ATOMIC_RELAXED);
            else
                CHECK_EQ(index, -1);
            chunks++;
        }
#pragma omp atomic
        threads += chunks;
    }
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(seen[i], i < @COUNT@);
    CHECK_EQ(threads, @COUNT@);
    return check_result();
}
