// what: on a described machine of eight nodes teams in teams divide the places, down to cores; outermost threads say where they run
// env: OMP_DISPLAY_AFFINITY=true OMP_PLACES=cores OMP_PROC_BIND=spread,spread,close KMP_WARNINGS=0 OMP_NUM_THREADS=8,4,2
// threads: 4
// mode: preload,link
// ours: only Gangway knows the variable
// expect-stdout: bound 1 3 to 36,132
// expect-stdout: bound 1 7 to 84,180
#define _GNU_SOURCE
#include "machine.h"
/* Where the threads of inner teams run depends on which workers are free; their places do not. */
int main(void)
{
    describe_machine("cpus 0-191\ncore 0,96 x96\nnuma 0-11,96-107 x8+12\nsocket 0-47,96-143 x2+48\n");
    setenv("OMP_NUM_THREADS", "8,4,2", 1);
    setenv("OMP_AFFINITY_FORMAT", "bound %L %n to %A", 1);
    CHECK_EQ(omp_get_num_places(), 96);
    machine_is_known();
#pragma omp parallel
    {
        int outer = omp_get_thread_num();
        CHECK_EQ(omp_get_num_threads(), 8);
        CHECK_EQ(omp_get_place_num(), 12 * outer);
        CHECK_EQ(omp_get_partition_num_places(), 12);
        CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_spread);
        if (outer == 3)
#pragma omp parallel
        {
            int middle = omp_get_thread_num(), nums[3];
            CHECK_EQ(omp_get_num_threads(), 4);
            CHECK_EQ(omp_get_place_num(), 36 + 3 * middle);
            CHECK_EQ(omp_get_partition_num_places(), 3);
            omp_get_partition_place_nums(nums);
            CHECK(nums[0] == 36 + 3 * middle && nums[2] == 38 + 3 * middle);
            if (middle == 1)
#pragma omp parallel
            {
                CHECK_EQ(omp_get_num_threads(), 2);
                CHECK_EQ(omp_get_place_num(), 39 + omp_get_thread_num());
                CHECK_EQ(omp_get_partition_num_places(), 3);
            }
        }
    }
    return check_result();
}
