/* Where regions run: device numbers, processes, names, the parallel regions inside; and on the host. */
#include "device.h"
#include "ompx.h"
#include <unistd.h>

int main(void)
{
    int ranks = ompx_cluster_size(), devices = omp_get_num_devices();
    CHECK_EQ(ompx_cluster_rank(), 0);
    CHECK_EQ(devices, ranks - 1);
    CHECK_EQ(omp_get_initial_device(), devices);
    EACH_DEVICE(d)
    {
        int num = -1, initial = -1, pid = 0, rank = -1, size = -1, level = -1, sum = 0;
#pragma omp target device(d) map(from : num, initial, pid, rank, size, level) map(tofrom : sum)
        {
            num = omp_get_device_num();
            initial = omp_is_initial_device();
            pid = getpid();
            rank = ompx_cluster_rank();
            size = ompx_cluster_size();
            level = omp_get_level();
#pragma omp parallel num_threads(3) reduction(+ : sum)
            sum += 1 + (omp_get_device_num() == num ? 0 : 100);
        }
        CHECK_EQ(num, d);
        CHECK_EQ(initial, d == devices);
        CHECK_EQ(pid != getpid(), d != devices);
        CHECK_EQ(rank, d == devices ? 0 : d + 1);
        CHECK_EQ(size, ranks);
        CHECK_EQ(level, 0);
        CHECK(sum >= 1 && sum <= 3);
    }
    ompx_counters_t counters = {0};
    CHECK_EQ(ompx_get_counters(&counters, sizeof counters), sizeof counters);
    CHECK_EQ(counters.regions_sent, devices);
    CHECK(devices == 0 || counters.bytes_fetched > 0);
    return check_result();
}
