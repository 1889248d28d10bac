/* Threads of a team that share a worker, without a setting: a thread that waits in MPI lets its mates go on.
 * Each call that may wait, its status, its errors. That it was no rescue by the stall monitor is notified by
 * the counters. */
#include "common.h"
#include "ompx.h"

enum { THREADS = 6, ROUNDS = 40, LARGE = 1 << 18 };

static long rescues(void)
{
    ompx_counters_t counters = {0};
    ompx_get_counters(&counters, sizeof counters);
    return (long)(counters.hand_offs + counters.preemptions);
}

static int mine(int thread)
{
    return 100 * rank + thread;
}

/* `act(round, thread)` in each thread of a team, many times; in each the threads wait for those with higher
 * numbers. */
static void repeat(const char *name, void (*act)(int, int))
{
    long before = rescues();
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(THREADS)
        act(round, omp_get_thread_num());
    }
    /* On one worker each round would need several. Where there are more, MPI's own locks may put one to
     * sleep. */
    long after = rescues() - before;
    const char *workers = getenv("GANGWAY_WORKERS");
    if (after > ROUNDS && workers && strcmp(workers, "1") == 0) {
        fprintf(stderr, "rank %d: %s: the monitor helped %ld times in %d rounds\n", rank, name, after,
                ROUNDS);
        failures++;
    }
}

/* Thread 0 of one rank waits for thread 1 of the other, and so on; the last one waits for nobody. */
static void receive_then_send(int round, int thread)
{
    int other = 1 - rank, value = -1;
    MPI_Status status;
    if (thread < THREADS - 1) {
        MPI_Recv(&value, 1, MPI_INT, other, 1000 * thread + round, MPI_COMM_WORLD, &status);
        CHECK_EQ(value, 100 * other + thread + 1);
        CHECK_EQ(status.MPI_SOURCE, other);
        CHECK_EQ(status.MPI_TAG, 1000 * thread + round);
        int count = -1;
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQ(count, 1);
    }
    value = mine(thread);
    if (thread > 0)
        MPI_Send(&value, 1, MPI_INT, other, 1000 * (thread - 1) + round, MPI_COMM_WORLD);
}

/* Lower threads send what is received by higher ones of the same rank: a send that waits, too, lets them go
 * on. */
static void send_then_receive(int round, int thread)
{
    static int block[THREADS][LARGE];
    int half = THREADS / 2, *data = block[thread];
    if (thread < half) {
        data[0] = data[LARGE - 1] = mine(thread) + round;
        if (thread == 0)
            MPI_Ssend(data, 1, MPI_INT, rank, thread, MPI_COMM_WORLD);
        else
            MPI_Send(data, LARGE, MPI_INT, rank, thread, MPI_COMM_WORLD);
    } else {
        int count = thread == half ? 1 : LARGE;
        MPI_Recv(data, count, MPI_INT, rank, thread - half, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(data[0], mine(thread - half) + round);
        CHECK_EQ(data[count - 1], mine(thread - half) + round);
    }
}

/* Each thread by another call, all for messages of the last one. */
static void other_calls(int round, int thread)
{
    enum { MANY = 4 };
    int values[MANY] = {-1, -1, -1, -1}, tag = 1000 * thread, done = 0, which[MANY], index;
    MPI_Request requests[MANY];
    MPI_Status status, statuses[MANY];
    MPI_Message message;
    for (int i = 0; i < MANY && thread < 3; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, rank, tag + i, MPI_COMM_WORLD, &requests[i]);
    switch (thread) {
    case 0:
        MPI_Waitall(MANY, requests, statuses);
        CHECK_EQ(statuses[MANY - 1].MPI_TAG, tag + MANY - 1);
        break;
    case 1:
        for (; done < MANY; done++) {
            MPI_Waitany(MANY, requests, &index, &status);
            CHECK_EQ(status.MPI_TAG, tag + index);
            CHECK_EQ(requests[index] == MPI_REQUEST_NULL, 1);
        }
        MPI_Waitany(MANY, requests, &index, &status);
        CHECK_EQ(index, MPI_UNDEFINED);
        break;
    case 2:
        for (int some; done < MANY; done += some) {
            MPI_Waitsome(MANY, requests, &some, which, statuses);
            CHECK_EQ(some >= 1 && some <= MANY, 1);
            CHECK_EQ(statuses[0].MPI_TAG, tag + which[0]);
        }
        MPI_Waitsome(MANY, requests, &done, which, statuses);
        CHECK_EQ(done, MPI_UNDEFINED);
        break;
    case 3:
        MPI_Probe(rank, tag, MPI_COMM_WORLD, &status);
        CHECK_EQ(status.MPI_TAG, tag);
        for (int i = 0; i < MANY; i++)
            MPI_Recv(&values[i], 1, MPI_INT, rank, tag + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 4:
        for (int i = 0; i < MANY; i++) {
            MPI_Mprobe(rank, tag + i, MPI_COMM_WORLD, &message, &status);
            CHECK_EQ(status.MPI_TAG, tag + i);
            MPI_Mrecv(&values[i], 1, MPI_INT, &message, &status);
        }
        break;
    default:
        for (int to = 0; to < THREADS - 1; to++)
            for (int i = MANY - 1; i >= 0; i--) {
                int value = 10 * round + i;
                MPI_Send(&value, 1, MPI_INT, rank, 1000 * to + i, MPI_COMM_WORLD);
            }
    }
    for (int i = 0; i < MANY && thread < THREADS - 1; i++)
        CHECK_EQ(values[i], 10 * round + i);
}

/* All threads exchange with the same thread of the other rank. */
static void exchange(int round, int thread)
{
    int out = mine(thread) + round, in = -1;
    MPI_Status status;
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, thread, &in, 1, MPI_INT, 1 - rank, thread, MPI_COMM_WORLD,
                 &status);
    CHECK_EQ(in, 100 * (1 - rank) + thread + round);
    CHECK_EQ(status.MPI_TAG, thread);
    MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                 &status);
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

static int called, thread_of_handler = -1;

static void note_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    called++;
    thread_of_handler = omp_get_thread_num();
}

/* What is wrong comes out as from the blocking call; `comm` returns errors, or calls `note_error`, once and
 * in the thread that waits. */
static void errors(MPI_Comm comm, int handled)
{
    called = 0;
#pragma omp parallel num_threads(3)
#pragma omp master
    {
        int data[4] = {0}, one = 0, class = -1;
        MPI_Request request;
        MPI_Status status;
        MPI_Isend(data, 4, MPI_INT, rank, 5, comm, &request);
        MPI_Error_class(MPI_Recv(&one, 1, MPI_INT, rank, 5, comm, &status), &class);
        CHECK_EQ(class, MPI_ERR_TRUNCATE);
        CHECK_EQ(status.MPI_TAG, 5);
        CHECK_EQ(called, handled);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Error_class(MPI_Recv(&one, 1, MPI_INT, 77, 5, comm, MPI_STATUS_IGNORE), &class);
        CHECK_EQ(class, MPI_ERR_RANK);
        CHECK_EQ(called, 2 * handled);
        MPI_Error_class(
            MPI_Sendrecv(data, 1, MPI_INT, 77, 5, &one, 1, MPI_INT, rank, 6, comm, MPI_STATUS_IGNORE),
            &class);
        CHECK_EQ(class, MPI_ERR_RANK);
        CHECK_EQ(called, 3 * handled);
        CHECK_EQ(thread_of_handler, handled - 1);
    }
}

static void all_errors(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    errors(comm, 0);
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    errors(comm, 1);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

/* Requests that are null or inactive are no reason to wait, and none to return at once either. */
static void idle_requests(int round, int thread)
{
    int value = -1, other = -1, index = -1;
    MPI_Status status;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (thread == 0) {
        MPI_Wait(&requests[0], &status);
        MPI_Recv_init(&other, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&value, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &requests[2]);
        MPI_Waitany(3, requests, &index, &status);
        CHECK_EQ(index, 2);
        CHECK_EQ(value, round);
        MPI_Request_free(&requests[1]);
    } else if (thread == THREADS - 1) {
        MPI_Send(&round, 1, MPI_INT, rank, 8, MPI_COMM_WORLD);
    }
}

/* A thread in a collective call keeps its kernel thread, and its mates go on elsewhere: here with what the
 * other rank waits for. */
static void collective(int round, int thread)
{
    int sum = 0, token = round;
    if (thread == 0) {
        MPI_Allreduce(&thread, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (thread == 1 + rank) {
        MPI_Sendrecv_replace(&token, 1, MPI_INT, 1 - rank, 3, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(token, round);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 &&
        strcmp(argv[1], "low") == 0) { /* nothing is different, and only OMP_DISPLAY_ENV=verbose says so */
        start(MPI_THREAD_FUNNELED);
        int value = -1;
#pragma omp parallel num_threads(2)
#pragma omp master
        MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK_EQ(value, 1 - rank);
        return end();
    }
    start(MPI_THREAD_MULTIPLE);
    repeat("receive_then_send", receive_then_send);
    repeat("send_then_receive", send_then_receive);
    repeat("other_calls", other_calls);
    repeat("exchange", exchange);
    repeat("idle_requests", idle_requests);
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(THREADS)
        collective(round, omp_get_thread_num());
    }
    all_errors(); /* the last: from here on no call suspends its thread */
    return end();
}
