/* What an invocation on another rank costs beside plain MPI and beside a target region, in turn in one run:
 * rank 0 asks rank 1. Times per operation, the best series and the median. Each rank runs main and calls MPI,
 * so it is built by gcc with MPI's wrapper and linked with the library:
 *
 *     mpirun -n 2 env OMPX_CLUSTER=spmd ./invoke [rounds]
 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "ompx.h"

enum { TURNS = 1000, STREAM = 2000, MOST = 200, KINDS = 6 };

static volatile int over;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void nothing(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    (void)result;
}

static void echo(const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_result_set(result, args, bytes);
}

static void ends(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)args;
    (void)bytes;
    (void)result;
    over = 1;
}

static void finalize(void)
{
    MPI_Finalize();
}

/* Both ranks call it. */
static void plain(int rank, int count)
{
    char bytes[64] = {0};
    for (int i = 0; i < count; i++)
        if (rank == 0) {
            MPI_Send(bytes, 64, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(bytes, 64, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(bytes, 64, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(bytes, 64, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
}

static void invocations(int rank, ompx_handler fn, size_t bytes, int count)
{
    char there[64] = {0}, back[64];
    for (int i = 0; i < count; i++) {
        ompx_future_t future;
        ompx_invoke(rank, fn, there, bytes, &future);
        ompx_future_get(future, back, bytes);
        ompx_future_free(future);
    }
}

static void stream(int count)
{
    static ompx_future_t futures[STREAM];
    for (int i = 0; i < count; i++)
        ompx_invoke(1, nothing, NULL, 0, &futures[i]);
    for (int i = 0; i < count; i++) {
        ompx_future_wait(futures[i]);
        ompx_future_free(futures[i]);
    }
}

static void regions(int count)
{
    for (int i = 0; i < count; i++)
#pragma omp target device(1)
        ;
}

static const char *const names[KINDS] = {
    "plain MPI, 64 bytes there and back", "function, empty",
    "function, 64 bytes there and back",  "functions, to one rank, many at once",
    "function on the own rank, empty",    "region, empty"};

static double series(int kind)
{
    int count = kind == 3 ? STREAM : TURNS;
    double begin = omp_get_wtime();
    switch (kind) {
    case 1: invocations(1, nothing, 0, count); break;
    case 2: invocations(1, echo, 64, count); break;
    case 3: stream(count); break;
    case 4: invocations(0, nothing, 0, count); break;
    case 5: regions(count);
    }
    return (omp_get_wtime() - begin) / count;
}

/* Rank 1 sleeps between two looks while rank 0 measures, so that its own processor is free. */
static void round_of(int rank, int at, double (*t)[MOST])
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = omp_get_wtime();
    plain(rank, TURNS);
    if (rank == 1) {
        while (!over)
            usleep(1000);
        over = 0;
        return;
    }
    t[0][at] = (omp_get_wtime() - begin) / TURNS;
    for (int kind = 1; kind < KINDS; kind++)
        t[kind][at] = series(kind);
    ompx_invoke(1, ends, NULL, 0, NULL);
}

int main(int argc, char **argv)
{
    static double t[KINDS][MOST];
    int level, rounds = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    atexit(finalize); /* the ranks part before that */
    ompx_cluster_init(&argc, &argv);
    int rank = ompx_cluster_rank();
    if (rounds < 1 || rounds > MOST || ompx_cluster_size() != 2) {
        fprintf(stderr, "wants two ranks with OMPX_CLUSTER=spmd, and 1 to %d rounds\n", MOST);
        return 2;
    }
    for (int r = -1; r < rounds; r++)
        round_of(rank, r < 0 ? 0 : r, t);
    for (int kind = 0; kind < KINDS && rank == 0; kind++) {
        qsort(t[kind], (size_t)rounds, sizeof *t[kind], by_value);
        printf("%-40s %10.2f us %10.2f us\n", names[kind], t[kind][0] * 1e6, t[kind][rounds / 2] * 1e6);
    }
    fflush(stdout);
    return 0;
}
