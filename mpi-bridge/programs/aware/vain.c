/* A function waits in MPI for the other rank, which waits for the function's value before it sends.
 * GANGWAY_CHECK names both. Neither rank calls MPI in a parallel region. */
#include "common.h"
#include "ompx.h"
#include <pthread.h>
#include <unistd.h>

enum { VALUE = 7, END = 8 };

static void receives(const void *args, size_t bytes, ompx_result_t *result)
{
    int value = 0;
    (void)args;
    (void)bytes;
    MPI_Recv(&value, 1, MPI_INT, 1, VALUE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ompx_result_set(result, &value, sizeof value);
}

/* A thread that OpenMP knows nothing of. */
static void *sends_late(void *unused)
{
    int value = 42;
    sleep(7); /* the check speaks after some two seconds, later on a busy machine */
    MPI_Send(&value, 1, MPI_INT, 0, VALUE, MPI_COMM_WORLD);
    return unused;
}

/* The ranks part when main has ended, and use MPI until then. */
static void at_exit(void)
{
    if (end() != 0)
        _exit(1);
}

int main(int argc, char **argv)
{
    int value = 0;
    start(MPI_THREAD_MULTIPLE);
    CHECK_EQ(atexit(at_exit), 0);
    CHECK_EQ(ompx_cluster_init(&argc, &argv), 0);
    CHECK_EQ(ompx_cluster_rank(), rank);
    if (rank == 1) {
        ompx_future_t future;
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, sends_late, NULL), 0);
        CHECK_EQ(ompx_invoke(0, receives, NULL, 0, &future), 0);
        CHECK_EQ(ompx_future_get(future, &value, sizeof value), 0);
        CHECK_EQ(value, 42);
        CHECK_EQ(ompx_future_free(future), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        MPI_Send(&value, 1, MPI_INT, 0, END, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 1, END, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(value, 42);
    }
    return failures != 0;
}
