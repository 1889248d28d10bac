/* What it costs that a thread can be suspended: round trips between two ranks by the calls of aware.c and, in
 * turn, by MPI's own, from a region of one thread per rank. Prints half a round trip in microseconds: the
 * best and the median of many short series. */
#include "common.h"

enum { SERIES = 40, TRIPS = 100 };

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define SERIES_OF(name, send, recv) \
    static double name(char *data, int size) \
    { \
        double start = MPI_Wtime(); \
        for (int i = 0; i < TRIPS; i++) { \
            if (rank == 0) \
                send(data, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD); \
            recv(data, size, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); \
            if (rank == 1) \
                send(data, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD); \
        } \
        return (MPI_Wtime() - start) / TRIPS / 2 * 1e6; \
    }

SERIES_OF(aware, MPI_Send, MPI_Recv)
SERIES_OF(plain, PMPI_Send, PMPI_Recv)

int main(void)
{
    static char data[1 << 16];
    static const int sizes[] = {8, 256, 4096, 1 << 16};
    start(MPI_THREAD_MULTIPLE);
#pragma omp parallel num_threads(1)
    for (int s = 0; s < 4; s++) {
        double times[2][SERIES];
        for (int i = 0; i < SERIES; i++) {
            times[0][i] = plain(data, sizes[s]);
            times[1][i] = aware(data, sizes[s]);
        }
        qsort(times[0], SERIES, sizeof(double), by_time);
        qsort(times[1], SERIES, sizeof(double), by_time);
        if (rank == 0)
            printf("%6d B: best %.2f / %.2f us (%.2f), median %.2f / %.2f us (%.2f)\n", sizes[s], times[1][0],
                   times[0][0], times[1][0] / times[0][0], times[1][SERIES / 2], times[0][SERIES / 2],
                   times[1][SERIES / 2] / times[0][SERIES / 2]);
    }
    return end();
}
