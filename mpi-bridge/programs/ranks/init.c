/* The explicit call instead of the start library; a second call says that it is one. */
#include "device.h"
#include "ompx.h"

int main(int argc, char **argv)
{
    CHECK_EQ(ompx_cluster_init(&argc, &argv), 0);
    CHECK_EQ(ompx_cluster_rank(), 0);
    int num = -1;
#pragma omp target map(from : num) device(omp_get_num_devices() - 1)
    num = omp_get_device_num();
    CHECK_EQ(num, ompx_cluster_size() - 2);
    CHECK_EQ(ompx_cluster_init(&argc, &argv), -1);
    return check_result();
}
