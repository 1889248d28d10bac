/* ../saxpy.c by MPI calls: rank 0 scatters the vectors, every rank computes its part, rank 0 gathers the
 * results. The number of ranks has to divide the number of elements; no rank takes over from another one.
 *
 *     mpicc -O2 saxpy.c -o saxpy-mpi && mpirun -n 4 ./saxpy-mpi [elements] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, right = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long all = argc > 1 ? atol(argv[1]) : 1 << 20, n = all / ranks;
    if (n * ranks != all)
        MPI_Abort(MPI_COMM_WORLD, 2);
    float a = 2, *x = NULL, *y = NULL, *z = NULL;
    float *xb = malloc(n * sizeof *xb), *yb = malloc(n * sizeof *yb), *zb = malloc(n * sizeof *zb);
    if (rank == 0) {
        x = malloc(all * sizeof *x);
        y = malloc(all * sizeof *y);
        z = malloc(all * sizeof *z);
        for (long i = 0; i < all; i++) {
            x[i] = (float)(i % 1000);
            y[i] = (float)(i % 77);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();

    MPI_Scatter(x, (int)n, MPI_FLOAT, xb, (int)n, MPI_FLOAT, 0, MPI_COMM_WORLD);
    MPI_Scatter(y, (int)n, MPI_FLOAT, yb, (int)n, MPI_FLOAT, 0, MPI_COMM_WORLD);
    for (long i = 0; i < n; i++)
        zb[i] = a * xb[i] + yb[i];
    MPI_Gather(zb, (int)n, MPI_FLOAT, z, (int)n, MPI_FLOAT, 0, MPI_COMM_WORLD);

    if (rank == 0) {
        double seconds = MPI_Wtime() - begin, sum = 0;
        for (long i = 0; i < all; i++) {
            right &= z[i] == (float)(2 * (i % 1000) + i % 77);
            sum += z[i];
        }
        printf("saxpy: %ld elements, sum %.0f, %s\n", all, sum, right ? "right" : "WRONG");
        printf("  %.3f s\n", seconds);
        free(x);
        free(y);
        free(z);
    }
    free(xb);
    free(yb);
    free(zb);
    MPI_Finalize();
    return !right;
}
