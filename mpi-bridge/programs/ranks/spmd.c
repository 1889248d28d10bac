/* Every rank runs main and runs regions for the others at the same time. */
#include "device.h"
#include "ompx.h"
#include <unistd.h>

int main(void)
{
    int rank = ompx_cluster_rank(), ranks = ompx_cluster_size();
    CHECK_EQ(omp_get_num_devices(), ranks);
    for (int round = 0; round < 20; round++)
        for (int d = 0; d < ranks; d++) {
            int on = -1, from = rank, pid = 0, x[600];
            for (int i = 0; i < 600; i++)
                x[i] = i;
#pragma omp target device(d) map(to : from) map(from : on, pid) map(tofrom : x)
            {
                on = ompx_cluster_rank();
                pid = getpid();
                for (int i = 0; i < 600; i++)
                    x[i] += 1000 * from + on;
            }
            CHECK_EQ(on, d);
            CHECK_EQ(pid == getpid(), d == rank);
            CHECK_EQ(x[599], 599 + 1000 * rank + d);
        }
    usleep(20000 * rank); /* those that have ended go on serving */
    return check_result();
}
