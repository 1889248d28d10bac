/* ../pingpong.c by MPI calls: the messages alone that its tasks need. Rank 1 answers rank 0; further ranks
 * have nothing to do.
 *
 *     mpicc -O2 pingpong.c -o pingpong-mpi && mpirun -n 2 ./pingpong-mpi [rounds [messages of a round]]
 * [runtime]
 *
 * With `runtime` only the first of its sizes, as a runtime has to send them under a program of which it knows
 * nothing: any thread may call MPI, who asks does other things beside, and who serves knows neither who will
 * ask nor how much. */
#include "../pingpong.h"
#include <mpi.h>
#include <string.h>

enum { WINDOW = 64 };

static int rank, there, back; /* bytes each way */
static unsigned char *block;
static long wrong, messages;

/* Both ranks call it, as all that follow. The answer is what came, one more in its first and last byte. */
static void round_trips(long count)
{
    for (long i = 0; i < count; i++) {
        if (rank == 0) {
            unsigned char first = block[0];
            MPI_Send(block, there, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(block, back, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += block[0] != (unsigned char)(first + 1);
        } else if (rank == 1) {
            MPI_Recv(block, there, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            block[0]++;
            block[back - 1]++;
            MPI_Send(block, back, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

/* The same without blocking, and without knowing what will come. */
static void requests(long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int done = 0;
        if (rank == 0) {
            unsigned char first = block[0];
            static unsigned char answer[OUT];
            MPI_Irecv(answer, back, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(block, there, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[1]);
            while (!done)
                MPI_Testall(2, requests, &done, statuses);
            wrong += answer[0] != (unsigned char)(first + 1);
            block[0] = answer[0];
        } else if (rank == 1) {
            MPI_Message message;
            int bytes;
            while (!done)
                MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &done, &message, statuses);
            MPI_Get_count(statuses, MPI_BYTE, &bytes);
            wrong += bytes != there;
            MPI_Mrecv(block, bytes, MPI_BYTE, &message, statuses);
            block[0]++;
            block[back - 1]++;
            MPI_Isend(block, back, MPI_BYTE, statuses[0].MPI_SOURCE, 2, MPI_COMM_WORLD, &requests[0]);
            for (done = 0; !done;)
                MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
        }
    }
}

/* Up to WINDOW of `OUT` bytes at once, from one rank to the other. */
static void one_way(int from, long count)
{
    static char bytes[WINDOW][OUT];
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    if (rank > 1)
        return;
    for (long i = 0; i < count; i += WINDOW) {
        int some = count - i < WINDOW ? (int)(count - i) : WINDOW;
        for (int k = 0; k < some; k++)
            if (rank == from)
                MPI_Isend(bytes[k], OUT, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, &requests[k]);
            else
                MPI_Irecv(bytes[k], OUT, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(some, requests, statuses);
    }
}

/* One answer, when all have come. */
static void stream(long count)
{
    one_way(0, count);
    one_way(1, 1);
}

/* As many answers, by windows. */
static void answered(long count)
{
    for (long i = 0; i < count; i += WINDOW) {
        long some = count - i < WINDOW ? count - i : WINDOW;
        one_way(0, some);
        one_way(1, some);
    }
}

int main(int argc, char **argv)
{
    struct times all[3 + SIZES];
    int ranks, count = 0, level = MPI_THREAD_SINGLE,
               runtime = argc > 1 && strcmp(argv[argc - 1], "runtime") == 0;
    MPI_Init_thread(&argc, &argv, runtime ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    argc -= runtime;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rounds = argc > 1 ? atol(argv[1]) : 3;
    messages = argc > 2 ? atol(argv[2]) : 20;
    if (ranks < 2 || rounds < 1 || rounds > MOST_ROUNDS || messages < 1) {
        fprintf(stderr, "wants two ranks, 1 to %d rounds, and messages\n", MOST_ROUNDS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    block = calloc(1, LARGEST);
    there = IN, back = OUT;
    if (runtime) {
        all[count++] = measure("256 B in, 64 B out", requests, messages, MPI_Wtime);
        wrong += level != MPI_THREAD_MULTIPLE;
        goto end;
    }
    all[count++] = measure("256 B in, 64 B out", round_trips, messages, MPI_Wtime);
    all[count++] = measure("stream", stream, 50 * messages, MPI_Wtime);
    all[count++] = measure("stream, each answered", answered, 50 * messages, MPI_Wtime);
    for (int s = 0; s < SIZES; s++) {
        char what[40];
        there = back = sizes[s];
        snprintf(what, sizeof what, "%d B in and out", sizes[s]);
        all[count++] = measure(what, round_trips, 1 + messages * ONCE / (ONCE + sizes[s]), MPI_Wtime);
    }
end:
    if (rank == 0)
        print_times(all, count, wrong);
    free(block);
    MPI_Finalize();
    return wrong != 0;
}
