/* The bridge inside a program that uses MPI itself: inside LIBRARY [low], with 2 ranks. Compiled by an MPI's
 * wrapper.
 *
 * The program starts MPI and ends it; the bridge joins in between, and both send at the same time. With `low`
 * the program has asked for too little, and the bridge must say so.
 */
#include <mpi.h>

#include "common.h"

static int counted;

static void count_one(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    DEMAND(m->length == 8);
    counted++;
}

int main(int argc, char **argv)
{
    int granted, low = argc == 3 && strcmp(argv[2], "low") == 0;
    MPI_Init_thread(NULL, NULL, low ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &granted);
    load(argv[1]);
    struct gangway_bridge_config config = usual();
    config.thread_level = GANGWAY_BRIDGE_MULTIPLE;
    int result = T->init(&config, &B);
    if (result != GANGWAY_BRIDGE_OK) {
        DEMAND(low && result == GANGWAY_BRIDGE_E_THREADS);
        MPI_Finalize(); /* still the program's own */
        return 1;
    }
    me = T->rank(B);
    all = T->ranks(B);
    T->handle(B, 1, count_one, NULL);
    DEMAND(T->open(B) == GANGWAY_BRIDGE_OK);
    uint32_t next = (me + 1) % all, before = (me + all - 1) % all;
    for (int i = 0; i < 2000; i++) {
        int sent = i, received = -1;
        send_to(next, 1, &(uint64_t){7}, 8, 0);
        MPI_Sendrecv(&sent, 1, MPI_INT, (int)next, 5, &received, 1, MPI_INT, (int)before, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        DEMAND(received == i);
    }
    DEMAND(T->finalize(B) == GANGWAY_BRIDGE_OK);
    DEMAND(counted == 2000);
    int sum = 0, one = 1, over = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalized(&over);
    DEMAND(sum == (int)all && !over);
    MPI_Finalize();
    if (me == 0)
        printf("ok inside\n");
    return 0;
}
