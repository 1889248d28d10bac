/* What target regions on another rank cost: one after the other, many at once, and with data. Times per operation, the best of
 * some rounds and the median.
 *
 *     mpirun -n 2 env LD_PRELOAD=libgangway_start.so:libgangway.so OMPX_CLUSTER=head ./devices [rounds]
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYNC = 2000, STREAM = 10000, BLOCK = 64 << 10, LARGE = 8 << 20, MOST = 200 };

static int rounds = 20;
static char *memory;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Calls `work`, which does `count` operations. */
static void measure(const char *what, int count, double bytes, void (*work)(int))
{
    double t[MOST];
    work(0);
    for (int r = 0; r < rounds; r++) {
        double begin = omp_get_wtime();
        work(count);
        t[r] = (omp_get_wtime() - begin) / count;
    }
    qsort(t, rounds, sizeof *t, by_value);
    printf("%-44s %10.2f us %10.2f us", what, t[0] * 1e6, t[rounds / 2] * 1e6);
    if (bytes > 0)
        printf(" %8.2f GB/s", bytes / t[0] / 1e9);
    else
        printf(" %8.0f /s", 1 / t[0]);
    printf("\n");
}

static void empty(int count)
{
    for (int i = 0; i < count; i++)
#pragma omp target device(0)
        ;
}

static void value(int count)
{
    double x = 1;
    for (int i = 0; i < count; i++)
#pragma omp target device(0) map(tofrom : x)
        x += 1;
}

static void resident(int count)
{
    for (int i = 0; i < count; i++)
#pragma omp target device(0) map(to : memory[0 : 64]) firstprivate(i)
        memory[0] = (char)i;
}

static void stream(int count)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < count; i++) {
#pragma omp target device(0) nowait
        ;
    }
}

static void stream_all(int count)
{
    int devices = omp_get_num_devices();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < count; i++) {
#pragma omp target device(i % devices) nowait firstprivate(i)
        ;
    }
}

static void block(int count)
{
    for (int i = 0; i < count; i++)
#pragma omp target device(0) map(tofrom : memory[BLOCK : BLOCK])
        memory[BLOCK]++;
}

static void in(int count)
{
    for (int i = 0; i < count; i++) {
#pragma omp target update device(0) to(memory[LARGE : LARGE])
    }
}

static void out(int count)
{
    for (int i = 0; i < count; i++) {
#pragma omp target update device(0) from(memory[LARGE : LARGE])
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = atoi(argv[1]);
    if (rounds < 1 || rounds > MOST || omp_get_num_devices() == 0) {
        fprintf(stderr, "wants other ranks, and 1 to %d rounds\n", MOST);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    memory = malloc(2 * LARGE);
    memset(memory, 1, 2 * LARGE);
    printf("%-44s %13s %13s\n", "", "best", "median");
    measure("region, empty", SYNC, 0, empty);
    measure("region, 8 bytes there and back", SYNC, 0, value);
#pragma omp target enter data device(0) map(to : memory[0 : 64])
    measure("region, its data are there", SYNC, 0, resident);
#pragma omp target exit data device(0) map(delete : memory[0 : 64])
    measure("regions of nowait, to one rank", STREAM, 0, stream);
    measure("regions of nowait, to all ranks", STREAM, 0, stream_all);
    measure("region, 64 KiB there and back", 200, 2.0 * BLOCK, block);
#pragma omp target enter data device(0) map(to : memory[LARGE : LARGE])
    measure("update of 8 MiB, to", 4, LARGE, in);
    measure("update of 8 MiB, from", 4, LARGE, out);
#pragma omp target exit data device(0) map(delete : memory[LARGE : LARGE])
    return 0;
}
