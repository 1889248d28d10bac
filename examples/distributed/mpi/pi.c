/* ../pi.c by MPI calls: every rank adds up every so-manieth strip, whoever is quick waits for the others.
 *
 *     mpicc -O2 pi.c -o pi-mpi && mpirun -n 4 ./pi-mpi [steps] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 64 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long steps = (argc > 1 ? atol(argv[1]) : 1000000) / TASKS;
    double width = 1.0 / ((double)steps * TASKS), part = 0, pi;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double begin = MPI_Wtime();

    for (int t = rank; t < TASKS; t += ranks) {
        double sum = 0;
        for (long i = t * steps; i < (t + 1) * steps; i++) {
            double x = (i + 0.5) * width;
            sum += 4 / (1 + x * x);
        }
        part += sum * width;
    }
    MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

    int right = rank != 0 || (pi > 3.1415926525 && pi < 3.1415926545);
    if (rank == 0) {
        printf("pi: %.9f by %d tasks, %s\n", pi, TASKS, right ? "right" : "WRONG");
        printf("  %.3f s\n", MPI_Wtime() - begin);
    }
    MPI_Finalize();
    return !right;
}
