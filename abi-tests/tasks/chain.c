// what: a chain in which each task makes the next and ends: its length does not matter when the chain is freed
// threads: 1,4
#include "check.h"
static int length;
static void link_of(int left)
{
#pragma omp atomic
    length++;
    if (left > 0) {
#pragma omp task firstprivate(left)
        link_of(left - 1);
    }
}
int main(void)
{
    /* A team of one runs each task inside the one before: its stack bounds the chain there. */
    int links = omp_get_max_threads() > 1 ? 300000 : 1000;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        link_of(links);
    }
    CHECK_EQ(length, links + 1);
    return check_result();
}
