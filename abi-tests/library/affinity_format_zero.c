// what: a zero before the width of an affinity field fills with zeros only where the field is aligned to the right
// skip: gcc libgomp ends the program
#include "check.h"
int main(void)
{
    char buffer[40];
    CHECK_EQ(omp_capture_affinity(buffer, sizeof buffer, "[%04L][%0.4L][%.4L]"), 18);
    CHECK_EQ(strcmp(buffer, "[0   ][0000][   0]"), 0);
    return check_result();
}
