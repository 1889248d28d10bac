/* Latency, rate and bandwidth of the bridge beside those of plain MPI in the same run: bench LIBRARY [TEXT IN
 * A ROW'S NAME], with 2 ranks.
 *
 * Compiled by an MPI's wrapper. Each figure is taken up to ROUNDS times (short rounds, so that some escape
 * other work), the two sides in turn; the best and the median of the rounds are printed, with the ratio of
 * the best ones. In idle mode one thread makes all calls to MPI (MPI_THREAD_SERIALIZED); the bridge's thread
 * needs MPI_THREAD_MULTIPLE beside the program's own calls.
 */
#include <mpi.h>

#include "common.h"

enum { ROUNDS = 60, TURNS = 100, STREAM = 20000, KEPT = 64, PING = 1, PONG = 2, COUNT = 3, TAKE = 4 };

static int got, stream_got;
static uint64_t *block_here;
static int block_done;

static void ping(void *context, const struct gangway_bridge_message *m)
{
    static const char answer[64];
    struct gangway_bridge_piece piece = {answer, sizeof answer};
    (void)context;
    DEMAND(m->length == 256 && T->send(B, m->source, PONG, &piece, 1, NULL, 0, 0) == GANGWAY_BRIDGE_OK);
}

static void pong(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    (void)m;
    __atomic_add_fetch(&got, 1, __ATOMIC_RELEASE);
}

static void count_one(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    (void)m;
    __atomic_add_fetch(&stream_got, 1, __ATOMIC_RELEASE);
}

static void take(void *context, const struct gangway_bridge_message *m)
{
    (void)context;
    DEMAND(T->accept(B, &m->blocks[0], block_here, mark, &block_done) == GANGWAY_BRIDGE_OK);
}

static void await(const int *what, int value)
{
    while (__atomic_load_n(what, __ATOMIC_ACQUIRE) != value)
        look();
}

/* Both ranks here, by MPI, while the bridge makes progress as well. */
static void meet(void)
{
    MPI_Request request;
    int there = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!there) {
        look();
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    }
}

/* A round trip of 256 bytes and 64 back, us. */
static double raw_trip(void)
{
    static char bytes[256];
    double start = now();
    for (int i = 0; i < TURNS; i++) {
        if (me == 0) {
            MPI_Send(bytes, 256, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(bytes, 64, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(bytes, 256, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(bytes, 64, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    return (now() - start) / TURNS * 1e6;
}

static double bridge_trip(void)
{
    static char bytes[256];
    double start = now();
    for (int i = 0; me == 0 && i < TURNS; i++) {
        got = 0;
        send_to(1, PING, bytes, 256, 0);
        await(&got, 1);
    }
    return (now() - start) / TURNS * 1e6;
}

/* A stream of 64-byte messages until the receiver says it has them all: thousands per second. */
static double raw_stream(void)
{
    static char bytes[KEPT][64];
    MPI_Request requests[KEPT];
    MPI_Status statuses[KEPT];
    char word = 0;
    double start = now();
    for (int i = 0; i < STREAM; i += KEPT) {
        int n = STREAM - i < KEPT ? STREAM - i : KEPT;
        for (int k = 0; k < n; k++) {
            if (me == 0)
                MPI_Isend(bytes[k], 64, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[k]);
            else
                MPI_Irecv(bytes[k], 64, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[k]);
        }
        MPI_Waitall(n, requests, statuses);
    }
    if (me == 0)
        MPI_Recv(&word, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&word, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    return STREAM / (now() - start) / 1e3;
}

static double stream_with(uint32_t flags)
{
    static char bytes[64];
    double start = now();
    if (me == 0) {
        got = 0;
        for (int i = 0; i < STREAM; i++)
            send_to(1, COUNT, bytes, 64, flags);
        T->flush(B);
        await(&got, 1);
    } else {
        await(&stream_got, STREAM);
        stream_got = 0;
        send_to(0, PONG, bytes, 1, 0);
    }
    return STREAM / (now() - start) / 1e3;
}

static double each_alone(void)
{
    return stream_with(0);
}
static double with_more(void)
{
    return stream_with(GANGWAY_BRIDGE_MORE);
}

/* A block there and back, us. */
static uint64_t block_bytes;

static double raw_block(void)
{
    double start = now();
    int count = (int)block_bytes;
    if (me == 0) {
        MPI_Send(block_here, count, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
        MPI_Recv(block_here, count, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(block_here, count, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(block_here, count, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
    }
    return (now() - start) * 1e6;
}

static void send_block(uint32_t to)
{
    static int sent;
    sent = 0;
    struct gangway_bridge_block block = {block_here, block_bytes, mark, &sent};
    DEMAND(T->send(B, to, TAKE, NULL, 0, &block, 1, 0) == GANGWAY_BRIDGE_OK);
    await(&sent, 1000);
}

static double bridge_block(void)
{
    double start = now();
    if (me == 0)
        send_block(1);
    await(&block_done, 1000);
    block_done = 0;
    if (me == 1)
        send_block(0);
    return (now() - start) * 1e6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *filter = "";

static void row(const char *what, const char *unit, double (*raw)(void), double (*ours)(void))
{
    if (!strstr(what, filter))
        return;
    double raws[ROUNDS], all_ours[ROUNDS];
    int rounds = block_bytes > 32 << 20 ? ROUNDS / 6 : ROUNDS;
    for (int i = -2; i < rounds; i++) {
        meet();
        double r = raw();
        meet();
        double o = ours();
        if (i >= 0)
            raws[i] = r, all_ours[i] = o;
    }
    meet();
    qsort(raws, (size_t)rounds, sizeof *raws, by_size);
    qsort(all_ours, (size_t)rounds, sizeof *all_ours, by_size);
    int best = strcmp(unit, "us") == 0 ? 0 : rounds - 1;
    if (me == 0)
        printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", what, unit, raws[best], raws[rounds / 2],
               all_ours[best], all_ours[rounds / 2], all_ours[best] / raws[best]);
}

int main(int argc, char **argv)
{
    DEMAND(argc == 2 || argc == 3);
    filter = argc == 3 ? argv[2] : filter;
    struct gangway_bridge_config config = usual();
    int granted, is_dedicated = config.progress == GANGWAY_BRIDGE_DEDICATED;
    MPI_Init_thread(NULL, NULL, is_dedicated ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &granted);
    load(argv[1]);
    config.thread_level = is_dedicated ? GANGWAY_BRIDGE_MULTIPLE : GANGWAY_BRIDGE_SERIALIZED;
    start(&config);
    DEMAND(all == 2);
    T->handle(B, PING, ping, NULL);
    T->handle(B, PONG, pong, NULL);
    T->handle(B, COUNT, count_one, NULL);
    T->handle(B, TAKE, take, NULL);
    block_here = calloc(1, 64 << 20);
    DEMAND(T->open(B) == GANGWAY_BRIDGE_OK);
    if (me == 0)
        printf(
            "| %s | unit | MPI best | MPI median | bridge best | bridge median | ratio |\n|---|---|---:|---:|---:|---:|---:|\n",
            is_dedicated ? "dedicated" : "idle");
    row("round trip, 256 B and 64 B back", "us", raw_trip, bridge_trip);
    row("stream of 20,000 x 64 B, each flushed", "1000/s", raw_stream, each_alone);
    row("stream of 20,000 x 64 B, `MORE`", "1000/s", raw_stream, with_more);
    static const struct {
        uint64_t bytes;
        const char *name;
    } blocks[] = {{64 << 10, "block of 64 KiB there and back"},
                  {1 << 20, "block of 1 MiB there and back"},
                  {64 << 20, "block of 64 MiB there and back"}};
    for (int i = 0; i < 3; i++) {
        block_bytes = blocks[i].bytes;
        row(blocks[i].name, "us", raw_block, bridge_block);
    }
    DEMAND(T->finalize(B) == GANGWAY_BRIDGE_OK);
    MPI_Finalize();
    return 0;
}
