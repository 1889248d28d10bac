/* All calls to MPI, behind plain C functions: compiled once per MPI with that MPI's mpi.h (`cargo xtask
 * bridge`).
 *
 * One thread at a time is in here, except in `stop_all`; the engine of the bridge sees to that. Requests are
 * kept in one dense array, so that a look at everything is one MPI_Testsome. The Rust side
 * (src/fabric/mpi.rs) declares the same structures. What may not live here: anything that can be said without
 * MPI.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/gangway_bridge.h"

#ifdef OPEN_MPI
#define NAME "openmpi"
#else
#define NAME "mpich"
#endif

/* Up to this size both MPIs usually copy a message at once, and a send is worth a test. */
enum { EAGER = 4096 };

struct completed {
    uint64_t token;
    uint64_t length;
    uint32_t source;
    uint32_t cancelled;
};

struct calls {
    const char *name;
    int (*begin)(int level, int *granted, int *ours);
    int (*join)(void);
    int (*rank)(void);
    int (*ranks)(void);
    int (*most_tag)(void);
    int (*send)(int lane, int to, int tag, const void *from, uint64_t length, uint64_t token);
    int (*receive)(int lane, int source, int tag, void *into, uint64_t length, uint64_t token);
    int (*poll)(struct completed *into, int most);
    int (*cancel)(uint64_t token);
    int (*from_first)(void *bytes, uint64_t length);
    int (*least)(uint64_t *value);
    int (*settle)(const uint64_t *sent, uint64_t *expected);
    int (*end)(int finalize);
    void (*stop_all)(void);
    const char *(*reason)(void);
};

/* From the Rust side. */
const struct gangway_bridge_table *gangway_bridge_over(uint32_t abi, const struct calls *calls);

static MPI_Comm lanes[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
static char words[MPI_MAX_ERROR_STRING + 64];

/* What is under way: the first `count` places of three arrays. Of what has completed, [taken, found) is not
 * yet reported. */
static struct operation {
    uint64_t token;
    int is_receive;
} *operations;
static MPI_Request *requests;
static MPI_Status *statuses;
static int *indices;
static struct completed *ready;
static int count, room, taken, found;

static int fine(int result, const char *what)
{
    if (result == MPI_SUCCESS)
        return 0;
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(result, text, &length);
    snprintf(words, sizeof words, "%s: %s", what, text);
    return -1;
}

static const char *reason(void)
{
    return words;
}

static int begin(int level, int *granted, int *ours)
{
    int already = 0, over = 0;
    if (fine(MPI_Initialized(&already), "MPI_Initialized") || fine(MPI_Finalized(&over), "MPI_Finalized"))
        return -1;
    if (over) {
        snprintf(words, sizeof words, "the program has called MPI_Finalize");
        return -1;
    }
    *ours = !already;
    if (already)
        return fine(MPI_Query_thread(granted), "MPI_Query_thread");
    return fine(MPI_Init_thread(NULL, NULL, level, granted), "MPI_Init_thread");
}

static int join(void)
{
    for (int i = 0; i < 2; i++) {
        /* By MPI's own name: the library for waits in MPI (aware.c) would take the handler for one of the
         * program's. */
        if (fine(MPI_Comm_dup(MPI_COMM_WORLD, &lanes[i]), "MPI_Comm_dup") ||
            fine(PMPI_Comm_set_errhandler(lanes[i], MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"))
            return -1;
    }
    return 0;
}

static int rank(void)
{
    int value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &value);
    return value;
}

static int ranks(void)
{
    int value = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &value);
    return value;
}

static int most_tag(void)
{
    int *value = NULL, is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &is_set);
    return is_set ? *value : 32767;
}

/* Room for one more operation. */
static int make_room(void)
{
    if (count < room)
        return 0;
    int more = room ? 2 * room : 256;
    void *places[] = {realloc(operations, (size_t)more * sizeof *operations),
                      realloc(requests, (size_t)more * sizeof *requests),
                      realloc(statuses, (size_t)more * sizeof *statuses),
                      realloc(indices, (size_t)more * sizeof *indices)};
    if (places[0])
        operations = places[0];
    if (places[1])
        requests = places[1];
    if (places[2])
        statuses = places[2];
    if (places[3])
        indices = places[3];
    if (!places[0] || !places[1] || !places[2] || !places[3]) {
        snprintf(words, sizeof words, "no memory for %d operations", more);
        return -1;
    }
    room = more;
    return 0;
}

static void keep(uint64_t token, int is_receive)
{
    operations[count].token = token;
    operations[count].is_receive = is_receive;
    count++;
}

/* Begins to send; 1: it is done already, and no completion follows. */
static int begin_send(int lane, int to, int tag, const void *from, uint64_t length, uint64_t token)
{
    int done = 0;
    if (make_room() ||
        fine(MPI_Isend(from, (int)length, MPI_BYTE, to, tag, lanes[lane], &requests[count]), "MPI_Isend"))
        return -1;
    /* What MPI has copied is done already: not worth a place in the array. */
    if (length <= EAGER && fine(MPI_Test(&requests[count], &done, MPI_STATUS_IGNORE), "MPI_Test"))
        return -1;
    if (done)
        return 1;
    keep(token, 0);
    return 0;
}

static int begin_receive(int lane, int source, int tag, void *into, uint64_t length, uint64_t token)
{
    int from = source < 0 ? MPI_ANY_SOURCE : source;
    if (make_room() ||
        fine(MPI_Irecv(into, (int)length, MPI_BYTE, from, tag, lanes[lane], &requests[count]), "MPI_Irecv"))
        return -1;
    keep(token, 1);
    return 0;
}

/* Turns what MPI_Testsome reports about one operation into a completion. */
static int note(struct completed *to, const struct operation *operation, MPI_Status *status, int result)
{
    int cancelled = 0, length = 0;
    if (result == MPI_ERR_IN_STATUS &&
        fine(status->MPI_ERROR, operation->is_receive ? "a reception" : "a sending"))
        return -1;
    to->token = operation->token;
    to->length = 0;
    to->source = 0;
    to->cancelled = 0;
    if (!operation->is_receive)
        return 0;
    if (fine(MPI_Test_cancelled(status, &cancelled), "MPI_Test_cancelled"))
        return -1;
    to->cancelled = (uint32_t)cancelled;
    if (cancelled)
        return 0;
    if (fine(MPI_Get_count(status, MPI_BYTE, &length), "MPI_Get_count"))
        return -1;
    to->length = (uint64_t)length;
    to->source = (uint32_t)status->MPI_SOURCE;
    return 0;
}

static int look(void)
{
    static int ready_room;
    int outcount = 0;
    int result = MPI_Testsome(count, requests, &outcount, indices, statuses);
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)
        return fine(result, "MPI_Testsome");
    if (outcount == MPI_UNDEFINED || outcount == 0)
        return 0;
    if (outcount > ready_room) {
        void *place = realloc(ready, (size_t)room * sizeof *ready);
        if (!place) {
            snprintf(words, sizeof words, "no memory for %d completions", room);
            return -1;
        }
        ready = place;
        ready_room = room;
    }
    taken = found = 0;
    for (int i = 0; i < outcount; i++)
        if (note(&ready[found++], &operations[indices[i]], &statuses[i], result))
            return -1;
    /* Completed requests are null now, in whatever order they were named; the others move up. */
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        if (kept != i) {
            requests[kept] = requests[i];
            operations[kept] = operations[i];
        }
        kept++;
    }
    count = kept;
    return 0;
}

static int poll_all(struct completed *into, int most)
{
    if (taken == found && look())
        return -1;
    int n = found - taken < most ? found - taken : most;
    if (n > 0)
        memcpy(into, ready + taken, (size_t)n * sizeof *into);
    taken += n;
    return n;
}

static int cancel(uint64_t token)
{
    for (int i = 0; i < count; i++)
        if (operations[i].is_receive && operations[i].token == token &&
            fine(MPI_Cancel(&requests[i]), "MPI_Cancel"))
            return -1;
    return 0;
}

static int from_first(void *bytes, uint64_t length)
{
    return fine(MPI_Bcast(bytes, (int)length, MPI_BYTE, 0, lanes[0]), "MPI_Bcast");
}

static int least(uint64_t *value)
{
    return fine(MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_UINT64_T, MPI_MIN, lanes[0]), "MPI_Allreduce");
}

static int settle(const uint64_t *sent, uint64_t *expected)
{
    return fine(MPI_Reduce_scatter_block(sent, expected, 1, MPI_UINT64_T, MPI_SUM, lanes[0]),
                "MPI_Reduce_scatter_block");
}

static int end(int finalize)
{
    for (int i = 0; i < 2; i++)
        if (lanes[i] != MPI_COMM_NULL && fine(MPI_Comm_free(&lanes[i]), "MPI_Comm_free"))
            return -1;
    return finalize ? fine(MPI_Finalize(), "MPI_Finalize") : 0;
}

static void stop_all(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static const struct calls all = {
    NAME,     begin,  join,       rank,  ranks,  most_tag, begin_send, begin_receive,
    poll_all, cancel, from_first, least, settle, end,      stop_all,   reason,
};

__attribute__((visibility("default"))) const struct gangway_bridge_table *gangway_bridge_table(uint32_t abi)
{
    return gangway_bridge_over(abi, &all);
}
