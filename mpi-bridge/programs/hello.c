/* MPI alone, without any part of ours: does this machine run it? Ranks add up their numbers. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int granted, rank, ranks, sum;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != ranks * (ranks - 1) / 2;
}
