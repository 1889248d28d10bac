/* 1000 tasks that each receive from the other rank, and behind them, in the same queues, the tasks that send:
 * no thread gets to a send unless tasks that wait for a message let it go. With OMPX_TASK_AWARE_MPI=1; hangs
 * under runtimes that know nothing of MPI. */
#include "common.h"

enum { TASKS = 1000 };

static int got[TASKS];

static void receive(int i, int other)
{
    MPI_Status status;
    MPI_Recv(&got[i], 1, MPI_INT, other, i, MPI_COMM_WORLD, &status);
    CHECK_EQ(status.MPI_SOURCE, other);
    CHECK_EQ(status.MPI_TAG, i);
}

/* Receives first, from one task. */
static void behind_each_other(int other)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < TASKS; i++)
#pragma omp task firstprivate(i)
            receive(i, other);
        for (int i = 0; i < TASKS; i++)
#pragma omp task firstprivate(i)
        {
            int value = 1000000 * rank + i;
            MPI_Send(&value, 1, MPI_INT, other, i, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(got[i], 1000000 * other + i);
}

/* Each task waits for children that wait for messages whose senders are not among their descendants;
 * synchronous sends. */
static void below_each_other(int other)
{
    enum { OUTER = 40, INNER = 5 };
    memset(got, 0, sizeof got);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < OUTER; i++)
#pragma omp task firstprivate(i)
        {
            for (int k = 0; k < INNER; k++)
#pragma omp task firstprivate(i, k)
                receive(INNER * i + k, other);
#pragma omp taskwait
            for (int k = 0; k < INNER; k++)
                CHECK_EQ(got[INNER * i + k], 1000000 * other + INNER * i + k);
        }
        for (int i = OUTER * INNER - 1; i >= 0; i--)
#pragma omp task firstprivate(i)
        {
            int value = 1000000 * rank + i;
            MPI_Ssend(&value, 1, MPI_INT, other, i, MPI_COMM_WORLD);
        }
    }
}

/* Tasks ordered by dependences around messages: a token goes to and fro. */
static void chain(int other)
{
    enum { ROUNDS = 200 };
    int token = 0, sent = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < ROUNDS; i++) {
        int mine = i % 2 == rank;
#pragma omp task depend(inout : token) firstprivate(i, mine)
        {
            if (mine) {
                token++;
                MPI_Request request;
                MPI_Isend(&token, 1, MPI_INT, other, i, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                sent++;
            } else {
                MPI_Recv(&token, 1, MPI_INT, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
    }
    CHECK_EQ(token, ROUNDS);
    CHECK_EQ(sent, ROUNDS / 2);
}

int main(void)
{
    start(MPI_THREAD_MULTIPLE);
    behind_each_other(1 - rank);
    below_each_other(1 - rank);
    chain(1 - rank);
    return end();
}
