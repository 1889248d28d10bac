// what: omp_pause_resource and _all: threads come back after a pause; not inside a region, not for other devices
// skip: clang<19 borrows a newer omp.h
// peers: libomp fails, because it pauses inside a region as well
#include "check.h"
static int sum(void)
{
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += 1 + omp_get_thread_num();
    return sum;
}
int main(void)
{
    int n = omp_get_max_threads(), host = omp_get_initial_device();
    omp_pause_resource_t kinds[2] = {omp_pause_soft, omp_pause_hard};
    for (int round = 0; round < 10; round++)
        for (int k = 0; k < 2; k++) {
            CHECK_EQ(sum(), n * (n + 1) / 2);
            CHECK_EQ(omp_pause_resource(kinds[k], host), 0);
            CHECK_EQ(sum(), n * (n + 1) / 2);
            CHECK_EQ(omp_pause_resource_all(kinds[k]), 0);
        }
    omp_set_num_threads(n + 1);
    CHECK_EQ(sum(), (n + 1) * (n + 2) / 2);
    CHECK(omp_pause_resource(omp_pause_soft, host + 7) != 0);
    int refused = 0;
#pragma omp parallel num_threads(2) reduction(+ : refused)
    refused += omp_pause_resource_all(omp_pause_hard) != 0;
    CHECK(refused >= 1);
    CHECK_EQ(sum(), (n + 1) * (n + 2) / 2);
    return check_result();
}
