/* How ranks share regions whose device is the runtime's choice, as TagHit's tables have it: regions run by
 * each rank, steals that were successful and aborted. Pi in regions of the same length; regions of very
 * different lengths; the same while the origin computes, too. The lengths are by the clock: so ranks may be
 * more than processors.
 *
 *     mpirun -n 9 env LD_PRELOAD=libgangway_start.so:libgangway.so OMPX_CLUSTER=head OMPX_STEAL=half ./steal
 * [regions] [steps each] [rounds]
 *
 * OMPX_STEAL and OMPX_STEAL_VICTIM change how. Rank 0 creates all regions. */
#include "ompx.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, RANKS = 256 };

static int regions = 64, rounds = 5;
static long steps = 1000000;
static double sums[MOST];
static int on[MOST];

static void read_all(int devices, ompx_counters_t *counters)
{
    for (int d = 0; d < devices; d++) {
        ompx_counters_t c = {0};
#pragma omp target device(d) map(tofrom : c)
        ompx_get_counters(&c, sizeof c);
        counters[d] = c;
    }
}

#pragma omp declare target
static void spend(double seconds)
{
    double end = omp_get_wtime() + seconds;
    while (omp_get_wtime() < end)
        ;
}
#pragma omp end declare target

static void part_of_pi(int r)
{
    double *sum = &sums[r], step = 1.0 / ((double)regions * steps);
    int *where = &on[r];
    long from = r * steps, to = from + steps;
#pragma omp target nowait device(ompx_device_any()) map(from : sum[0 : 1], where[0 : 1]) \
    firstprivate(from, to, step)
    {
        double s = 0;
        for (long i = from; i < to; i++) {
            double x = (i + 0.5) * step;
            s += 4 / (1 + x * x);
        }
        sum[0] = s * step;
        where[0] = omp_get_device_num();
    }
}

static void timed(int r, double seconds)
{
    int *where = &on[r];
#pragma omp target nowait device(ompx_device_any()) map(from : where[0 : 1]) firstprivate(seconds)
    {
        spend(seconds);
        where[0] = omp_get_device_num();
    }
}

enum kind { PI, LENGTHS, HOST };

static double run(enum kind kind)
{
    double begin = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < regions; r++) {
        if (kind == PI)
            part_of_pi(r);
        else
            timed(r, 1e-3 * (r % 16 == 0 ? 32 : r % 4 == 0 ? 8 : 1));
        if (kind == HOST && r % 16 == 8) {
#pragma omp task
            spend(10e-3);
        }
    }
    return omp_get_wtime() - begin;
}

static void table(const char *title, enum kind kind, int devices)
{
    static ompx_counters_t before[RANKS], after[RANKS];
    long attempts = 0, successes = 0, aborted = 0, count[RANKS] = {0};
    double best = 1e9, sum = 0;
    run(kind);
    read_all(devices, before);
    for (int round = 0; round < rounds; round++) {
        double t = run(kind);
        best = t < best ? t : best;
        for (int r = 0; r < regions; r++)
            count[on[r]]++;
    }
    read_all(devices, after);
    for (int r = 0; r < regions && kind == PI; r++)
        sum += sums[r];
    printf("%s: best of %d rounds %.1f ms", title, rounds, best * 1e3);
    if (kind == PI)
        printf(", pi = %.9f", sum);
    printf("\n");
    printf("%6s %14s %14s %12s %12s %12s\n", "device", "regions/round", "stolen/round", "successful",
           "aborted", "attempted");
    for (int d = 0; d < devices; d++) {
        ompx_counters_t *a = &after[d], *b = &before[d];
        long asked = a->rank_steal_attempts - b->rank_steal_attempts,
             done = a->rank_steal_successes - b->rank_steal_successes;
        long none = a->rank_steals_aborted - b->rank_steals_aborted;
        printf("%6d %14.1f %14.1f %12ld %12ld %12ld\n", d, (double)count[d] / rounds,
               (double)(a->regions_stolen - b->regions_stolen) / rounds, done, none, asked);
        attempts += asked, successes += done, aborted += none;
    }
    printf("aborted for each successful steal: %.2f\n\n", (double)aborted / (successes ? successes : 1));
}

int main(int argc, char **argv)
{
    int devices = omp_get_num_devices();
    if (ompx_cluster_rank() > 0)
        return 0;
    regions = argc > 1 ? atoi(argv[1]) : regions;
    steps = argc > 2 ? atol(argv[2]) : steps;
    rounds = argc > 3 ? atoi(argv[3]) : rounds;
    if (regions < 1 || regions > MOST || steps < 1 || rounds < 1 || devices < 1 || devices > RANKS) {
        fprintf(stderr, "wants other ranks, and 1 to %d regions\n", MOST);
        return 2;
    }
    table("pi, regions of the same length", PI, devices);
    table("regions of 1, 8 and 32 ms", LENGTHS, devices);
    table("the same, and tasks of 10 ms on rank 0", HOST, devices);
    return 0;
}
