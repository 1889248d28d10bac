// what: omp_display_affinity prints a line for the calling thread, @HOW@
// languages: c, c++
// each: HOW ; SET ; ARGUMENT = by its argument ; unused ; "me %n of %N" / by the variable ; me %n of %N ; NULL / by an empty argument ; me %n of %N ; ""
// threads: 3
// expect-stdout: me 1 of 3
// expect-stdout: me 2 of 3
// expect-stdout: me 0 of 3
#include "check.h"
int main(void)
{
    char text[50];
    omp_set_affinity_format("@SET@");
#pragma omp parallel
#pragma omp critical
    omp_display_affinity(@ARGUMENT@);
    CHECK_EQ(omp_get_affinity_format(text, sizeof text), strlen("@SET@"));
    return check_result();
}
