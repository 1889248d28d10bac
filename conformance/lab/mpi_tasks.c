// waits: tasks of one process, in MPI_Recv, for messages that other tasks send from within an inner region, one team of two each
// free: from 2
// mpi: openmpi
#include "lab.h"
#include <mpi.h>

int main(void)
{
    int n = omp_get_max_threads(), provided = 0;
    long sum = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        return 3;
    omp_set_max_active_levels(2);
#pragma omp parallel shared(sum)
#pragma omp single
    for (int i = 1; i <= 2 * (n / 2); i++)
#pragma omp task firstprivate(i) shared(sum)
    {
        long got = 0;
        int pair = (i - 1) / 2;
        if (i % 2) {
            MPI_Recv(&got, 1, MPI_LONG, 0, pair, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            ADD(sum, got);
        } else {
#pragma omp parallel num_threads(2) reduction(+ : got)
            {
                got += i;
#pragma omp barrier
            }
            MPI_Ssend(&got, 1, MPI_LONG, 0, pair, MPI_COMM_SELF);
        }
    }
    MPI_Finalize();
    long pairs = n / 2;
    return answer(sum, 2 * pairs * (pairs + 1));
}
