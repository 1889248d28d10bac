/* Regions whose device is the runtime's choice go where the elements are that they work on. */
#include "device.h"
#include "ompx.h"

enum { TILES = 24 };

/* One region after the other, so that no device has more to do than another. */
static void follows(uint64_t count, uint64_t block)
{
    double *x;
    uint64_t tile = count / TILES;
    CHECK_EQ(ompx_dist_alloc(count, OMPX_DOUBLE, block, (void **)&x), 0);
    for (uint64_t i = 0; i < TILES; i++) {
        int owner = ompx_dist_device(x, i * tile), device = -1;
        CHECK_EQ(ompx_set_task_data(x, i * tile, tile), 0);
#pragma omp target device(ompx_device_any()) is_device_ptr(x) map(from : device)
        {
            x[i * tile] += (double)(i + 1); /* zero before: on whose rank it is */
            device = omp_get_device_num();
        }
        CHECK_EQ(device, owner);
    }
    for (uint64_t i = 0; i < TILES; i++) {
        double value = -1;
        CHECK_EQ(ompx_dist_get(x, OMPX_OWNER, i * tile, 1, &value), 0);
        CHECK_EQ(value, i + 1);
    }
    CHECK_EQ(ompx_dist_free(x), 0);
}

/* The larger part decides; and what was said is for one region. */
static void weighs(void)
{
    int devices = omp_get_num_devices(), device = -1, first = -1, second = -1;
    double *x;
    CHECK_EQ(ompx_dist_alloc(1000 * devices, OMPX_DOUBLE, OMPX_BLOCK, (void **)&x), 0);
    CHECK_EQ(ompx_set_task_data(x, 0, 300), 0);
    CHECK_EQ(ompx_set_task_data(x, 1000 * devices - 400, 400), 0);
#pragma omp target device(ompx_device_any()) map(from : device)
    device = omp_get_device_num();
    CHECK_EQ(device, devices - 1);
    CHECK_EQ(ompx_set_task_data(x, 0, 1000), 0);
#pragma omp target device(0) map(from : device)
    device = omp_get_device_num();
    CHECK_EQ(device, 0);
#pragma omp target device(ompx_device_any()) map(from : first)
    first = omp_get_device_num();
#pragma omp target device(ompx_device_any()) map(from : second)
    second = omp_get_device_num();
    CHECK_EQ(first != second, devices > 1);
    /* Among ranks, which all devices are here; among GPUs, which none is: the host. */
#pragma omp target device(ompx_device_any_rank()) map(from : first)
    first = omp_is_initial_device();
#pragma omp target device(ompx_device_any_gpu()) map(from : second)
    second = omp_is_initial_device();
    CHECK_EQ(first, 0);
    CHECK_EQ(second, 1);
    CHECK_EQ(ompx_dist_free(x), 0);
}

int main(void)
{
    follows(TILES * 1000, OMPX_BLOCK);
    follows(TILES * 1000, 1000);
    follows(TILES * 500, 1500);
    if (omp_get_num_devices() > 0 && ompx_cluster_rank() == 0 && getenv("OMPX_SCHED") == NULL)
        weighs();
    return check_result();
}
