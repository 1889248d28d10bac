/* Programs that call MPI themselves, from OpenMP threads and tasks; run on two ranks. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures, rank, ranks;

#define CHECK_EQ(a, b) \
    do { \
        long long a_ = (a), b_ = (b); \
        if (a_ != b_) { \
            fprintf(stderr, "%s:%d: rank %d: %s is %lld, not %lld\n", __FILE__, __LINE__, rank, #a, a_, b_); \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED); \
        } \
    } while (0)

static void start(int wanted)
{
    int level;
    MPI_Init_thread(NULL, NULL, wanted, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK_EQ(level >= wanted, 1);
    CHECK_EQ(ranks, 2);
}

static int end(void)
{
    MPI_Finalize();
    return failures != 0;
}
