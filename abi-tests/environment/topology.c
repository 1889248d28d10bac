// what: GANGWAY_TOPOLOGY: places, partitions, bindings and numbers on machines that are only described
// threads: 1
// mode: preload,link
// ours: only Gangway knows the variable
// timeout: 60
#define _GNU_SOURCE
#include "machine.h"
#include <sys/wait.h>
#include <unistd.h>
#define FAR "cpus 0-191\ncore 0,96 x96\nnuma 0-11,96-107 x8+12\nsocket 0-47,96-143 x2+48\n"
#define INTERLEAVED "cpus 0-191\ncore 0-1 x96+2\nnuma 0-191:2/16 x8+2\nsocket 0-191:2/4 x2+2\n"
#define HUGE "cpus 0-1535\ncore 0,768 x768\nsocket 0-383,768-1151 x2+384\n"

/* A machine, the variables, a team's size; then the numbers of processors and places, and for each thread its
   place's first and last processor, its number of processors, the place's number and the partition's first
   place and size. */
static const struct {
    const char *machine, *places, *bind;
    int size, procs, num_places;
    int thread[4][6];
} cases[] = {
    {"cpus 0\n", "cores", "close", 2, 1, 1, {{0, 0, 1, 0, 0, 1}, {0, 0, 1, 0, 0, 1}}},
    {"cpus 0-1\n", "cores", "spread", 2, 2, 2, {{0, 0, 1, 0, 0, 1}, {1, 1, 1, 1, 1, 1}}},
    {"cpus 0-63\nnuma 0-31 x2+32\n",
     "numa_domains",
     "close",
     3,
     64,
     2,
     {{0, 31, 32, 0, 0, 2}, {0, 31, 32, 0, 0, 2}, {32, 63, 32, 1, 0, 2}}},
    {FAR,
     "cores",
     "spread",
     4,
     192,
     96,
     {{0, 96, 2, 0, 0, 24}, {24, 120, 2, 24, 24, 24}, {48, 144, 2, 48, 48, 24}, {72, 168, 2, 72, 72, 24}}},
    {FAR,
     "numa_domains",
     "spread",
     4,
     192,
     8,
     {{0, 107, 24, 0, 0, 2}, {24, 131, 24, 2, 2, 2}, {48, 155, 24, 4, 4, 2}, {72, 179, 24, 6, 6, 2}}},
    {FAR "quota 2.5\n",
     "threads",
     "close",
     3,
     3,
     192,
     {{0, 0, 1, 0, 0, 192}, {96, 96, 1, 1, 0, 192}, {1, 1, 1, 2, 0, 192}}},
    {FAR "mask 24-35,120-131\n",
     "cores",
     "spread",
     2,
     24,
     12,
     {{24, 120, 2, 0, 0, 6}, {30, 126, 2, 6, 6, 6}}},
    {INTERLEAVED, "cores", "close", 2, 192, 96, {{0, 1, 2, 0, 0, 96}, {16, 17, 2, 1, 0, 96}}},
    {"cpus 0-7\noffline 1,6\ncore 0,4 x4\n",
     "cores",
     "primary",
     2,
     6,
     4,
     {{0, 4, 2, 0, 0, 4}, {0, 4, 2, 0, 0, 4}}},
    {"cpus 0-11\nnuma 0-7\nnuma 8-11\n",
     "numa_domains",
     "spread",
     2,
     12,
     2,
     {{0, 7, 8, 0, 0, 1}, {8, 11, 4, 1, 1, 1}}},
    {HUGE, "sockets", "spread", 2, 1536, 2, {{0, 1151, 768, 0, 0, 1}, {384, 1535, 768, 1, 1, 1}}},
    {HUGE,
     "{1024},{1535}:2:-1,!{1534}",
     "close",
     2,
     1536,
     2,
     {{1024, 1024, 1, 0, 0, 2}, {1535, 1535, 1, 1, 0, 2}}},
};

/* Some compilers ask for the thread's number, and so for the variables, at the start of a function with a
 * region. */
__attribute__((noinline)) static void believe(const char *machine)
{
    describe_machine(machine);
    omp_get_max_threads(); /* Reads the variables. */
    machine_is_known();
}

static int place_is(int place, int first, int last, int count)
{
    static int ids[2048];
#pragma omp threadprivate(ids)
    if (omp_get_place_num_procs(place) != count || count > 2048)
        return 0;
    omp_get_place_proc_ids(place, ids);
    return ids[0] == first && ids[count - 1] == last;
}

static int partition_is(int first, int size)
{
    static int nums[2048];
#pragma omp threadprivate(nums)
    if (omp_get_partition_num_places() != size || size > 2048)
        return 0;
    omp_get_partition_place_nums(nums);
    return nums[0] == first && nums[size - 1] == first + size - 1;
}

__attribute__((noinline)) static void check_case(int i)
{
    CHECK_EQ(omp_get_num_procs(), cases[i].procs);
    CHECK_EQ(omp_get_max_threads(), cases[i].procs);
    CHECK_EQ(omp_get_num_places(), cases[i].num_places);
    for (int repeat = 0; repeat < 2; repeat++)
#pragma omp parallel num_threads(cases[i].size)
    {
        const int *want = cases[i].thread[omp_get_thread_num()];
        CHECK_EQ(omp_get_num_threads(), cases[i].size);
        CHECK_EQ(omp_get_place_num(), want[3]);
        CHECK(place_is(omp_get_place_num(), want[0], want[1], want[2]));
        CHECK(partition_is(want[4], want[5]));
    }
}

static int run_case(int i)
{
    setenv("KMP_WARNINGS", "0", 1); /* These processors are not here. */
    unsetenv("OMP_NUM_THREADS");
    setenv("OMP_PLACES", cases[i].places, 1);
    setenv("OMP_PROC_BIND", cases[i].bind, 1);
    believe(cases[i].machine);
    check_case(i);
    if (check_result())
        fprintf(stderr, "case %d\n", i);
    return check_result();
}

int main(void)
{
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        int child = fork(), status = 0;
        if (child == 0)
            exit(run_case(i));
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    return check_result();
}
