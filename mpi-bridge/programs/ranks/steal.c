/* Regions whose device is the runtime's choice, and ranks that steal them from each other: a slow device,
 * many small regions, chains, limits of memory. Without OMPX_STEAL nobody steals. */
#include "device.h"
#include "ompx.h"
#include <stdlib.h>
#include <string.h>

enum { SLOW = 48, SMALL = 2000, CHAINS = 8, STEPS = 30, BLOCKS = 24 };

#pragma omp declare target
static int inside;

static void spend(double seconds)
{
    double end = omp_get_wtime() + seconds;
    while (omp_get_wtime() < end)
        ;
}
#pragma omp end declare target

static int steals(void)
{
    const char *amount = getenv("OMPX_STEAL");
    return amount && strcmp(amount, "off") != 0;
}

/* In spmd mode the first device is the process that creates the regions: where it computes, those that wait
 * are its tasks, and wait too; and it takes what waits at home before it asks others. */
static int is_spmd(void)
{
    return omp_get_num_devices() == ompx_cluster_size();
}

/* All devices are given as many regions, and device 0 takes long for each: others take some of its share. */
static void slow(int devices)
{
    int on[SLOW], first = 0;
    CHECK_EQ(ompx_set_sched("rrmc"), 0);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < SLOW; i++) {
        int *one = &on[i];
#pragma omp target nowait device(ompx_device_any()) map(from : one[0 : 1])
        {
            spend(omp_get_device_num() == 0 ? 0.03 : 0.001);
            one[0] = omp_get_device_num();
        }
    }
    for (int i = 0; i < SLOW; i++) {
        CHECK(on[i] >= 0 && on[i] <= devices);
        first += on[i] == 0;
    }
    if (devices > 1 && steals())
        CHECK(first > 0 && (is_spmd() || first < SLOW / devices));
    else if (devices > 0)
        CHECK_EQ(first, SLOW / devices);
    CHECK_EQ(ompx_set_sched("least"), 0);
}

static void small(void)
{
    int *x = calloc(SMALL, sizeof *x);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < SMALL; i++) {
        int *one = &x[i];
#pragma omp target nowait map(tofrom : one[0 : 1]) firstprivate(i) device(ompx_device_any())
        one[0] += i;
    }
    int wrong = 0;
    for (int i = 0; i < SMALL; i++)
        wrong += x[i] != i;
    CHECK_EQ(wrong, 0);
    free(x);
}

static void chains(void)
{
    long x[CHAINS], want[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        x[c] = want[c] = c;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < STEPS; i++)
        for (int c = 0; c < CHAINS; c++) {
            long *one = &x[c];
            want[c] = want[c] * 3 + i;
#pragma omp target nowait depend(inout : one[0]) map(tofrom : one[0 : 1]) firstprivate(i) \
    device(ompx_device_any())
            one[0] = one[0] * 3 + i;
        }
    for (int c = 0; c < CHAINS; c++)
        CHECK_EQ(x[c], want[c]);
}

/* Under a limit of 1 MiB: so many regions of this size at a time on each device. */
static void memory(int devices, int size)
{
    char *data = malloc((size_t)BLOCKS * size);
    int seen[BLOCKS];
    memset(data, 3, (size_t)BLOCKS * size);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < BLOCKS; i++) {
        char *part = data + (size_t)i * size;
        int *one = &seen[i];
#pragma omp target nowait device(ompx_device_any()) map(to : part[0 : size]) map(from : one[0 : 1])
        {
            int now;
#pragma omp atomic capture
            now = ++inside;
            spend(omp_get_device_num() == 0 ? 0.01 : 0.001);
            one[0] = part[size - 1] == 3 ? now : 1000;
#pragma omp atomic
            inside--;
        }
    }
    for (int i = 0; i < BLOCKS; i++)
        CHECK(seen[i] >= 1 && seen[i] <= (devices ? (1 << 20) / size : BLOCKS));
    free(data);
}

static void counters(int devices)
{
    long stolen = 0, successes = 0;
    for (int d = 0; d < devices; d++) {
        ompx_counters_t c = {0};
#pragma omp target device(d) map(tofrom : c)
        ompx_get_counters(&c, sizeof c);
        long open = (long)(c.rank_steal_attempts - c.rank_steal_successes - c.rank_steals_aborted);
        CHECK(open == 0 || open == 1); /* an answer may be on its way */
        stolen += c.regions_stolen;
        successes += c.rank_steal_successes;
    }
    CHECK(stolen == 0 || devices > 1 && steals());
    CHECK(stolen > 0 || devices < 2 || !steals() || is_spmd());
    CHECK(steals() || successes == 0);
}

int main(int argc, char **argv)
{
    int devices = omp_get_num_devices(), is_first = ompx_cluster_rank() == 0;
    if (argc > 1 && strcmp(argv[1], "memory") == 0) {
        memory(devices, 600 << 10);
        memory(devices, 100 << 10);
        return check_result();
    }
    if (is_first)
        slow(devices);
    small();
    chains();
    if (is_first)
        counters(devices);
    return check_result();
}
