/* libgangway_aware_openmpi.so, libgangway_aware_mpich.so: preloaded, let an OpenMP thread that waits in MPI
 * give its worker to others.
 *
 *     mpirun -n 4 env LD_PRELOAD=.../libgangway_aware_openmpi.so:.../libgangway.so ./program
 *
 * Each blocking call here becomes its non-blocking twin and a test, with the arguments of the blocking call.
 * The caller tests once; then the runtime suspends it, and workers test, until the test has completed the
 * request: status and error are there then. A call outside of parallel regions, below MPI_THREAD_MULTIPLE, or
 * without our runtime is MPI's own.
 *
 * Errors: MPI calls an error handler in the thread that tests, which is any, so once the program has made a
 * handler of its own all calls are MPI's. MPICH, where the request was complete when it was tested, also
 * takes MPI_COMM_WORLD's handler for the communicator's: there any handler but MPI_ERRORS_ARE_FATAL has that
 * effect. Rejected: that workers ask MPI_Request_get_status, and the caller completes the request (in MPICH
 * that ends the program for a message that was truncated, whatever the handlers).
 *
 * Under GANGWAY_CHECK the runtime is reported what a call waits for, and calls outside of parallel regions go
 * the same way, so that it sees them.
 *
 * Collective calls stay what they are (a non-blocking collective does not match a blocking one of another
 * rank): before one, what could go on behind the thread is moved to another kernel thread.
 *
 * What may not live here: Fortran's names (aware_fortran.c), and the runtime's part (omp/outside.rs). Left as
 * they are: calls with large counts (MPI_Recv_c), MPI_Sendrecv_replace, MPI_Bsend (which does not wait),
 * files, windows, and collectives that are rare.
 */
#include "aware.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* Under OMP_DISPLAY_ENV=verbose. */
static void say_level(int level)
{
    const char *display = getenv("OMP_DISPLAY_ENV");
    if (!display || strcasecmp(display, "verbose") != 0)
        return;
    char line[160];
    int length = snprintf(
        line, sizeof line,
        "gangway: MPI grants thread level %d; below MPI_THREAD_MULTIPLE (%d) blocking MPI calls hold their worker\n",
        level, MPI_THREAD_MULTIPLE);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}

/* Does MPI let all threads call it? Asked once, after MPI_Init. */
static int is_multiple(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int known = UNKNOWN;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer != UNKNOWN)
        return answer == YES;
    int there = 0, level = MPI_THREAD_SINGLE;
    if (PMPI_Initialized(&there) != MPI_SUCCESS || !there || PMPI_Query_thread(&level) != MPI_SUCCESS)
        return 0;
    answer = level == MPI_THREAD_MULTIPLE ? YES : NO;
    if (atomic_exchange_explicit(&known, answer, memory_order_relaxed) == UNKNOWN && answer == NO)
        say_level(level);
    return answer == YES;
}

/* Errors might come out otherwise than from MPI's own calls. */
static atomic_int handles_errors;

void aware_handles_errors(void)
{
    atomic_store_explicit(&handles_errors, 1, memory_order_relaxed);
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *made)
{
    aware_handles_errors();
    return PMPI_Comm_create_errhandler(function, made);
}

#ifndef OPEN_MPI
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    if (handler != MPI_ERRORS_ARE_FATAL)
        aware_handles_errors();
    return PMPI_Comm_set_errhandler(comm, handler);
}
#endif

/* Are waits to be reported, so that GANGWAY_CHECK sees them, also those outside of parallel regions? */
static int are_told(void)
{
    return ompx_checks && ompx_suspend_for && ompx_checks();
}

int aware_suspends(void)
{
    return ompx_may_suspend && (ompx_may_suspend() || are_told()) && is_multiple() &&
           !atomic_load_explicit(&handles_errors, memory_order_relaxed);
}

/* The rank in MPI_COMM_WORLD, which is that of the program's ranks; -1 where that is not known. */
static int in_world(int rank, MPI_Comm comm)
{
    int between, there = MPI_UNDEFINED;
    MPI_Group group, world;
    if (rank < 0 || PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between ||
        PMPI_Comm_group(comm, &group) != MPI_SUCCESS)
        return -1;
    if (PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        PMPI_Group_translate_ranks(group, 1, &rank, world, &there);
        PMPI_Group_free(&world);
    }
    PMPI_Group_free(&group);
    return there == MPI_UNDEFINED ? -1 : there;
}

void aware_wait(int (*test)(void *), void *argument, const struct aware_end *end)
{
    if (test(argument))
        return;
    if (!are_told()) {
        ompx_suspend_until(test, argument);
        return;
    }
    ompx_message_t message = {end->call, end->end == OMPX_MESSAGES ? -1 : in_world(end->rank, end->comm),
                              end->tag, end->end};
    ompx_suspend_for(test, argument, &message);
}

/* ---- waiting for requests
 * ------------------------------------------------------------------------------------------ */

/* The arguments of a call that completes requests. */
struct requests {
    int count, *found, *indices, error;
    MPI_Request *requests;
    MPI_Status *statuses;
};

static int test_one(void *argument)
{
    struct requests *r = argument;
    int done = 0;
    r->error = PMPI_Test(r->requests, &done, r->statuses);
    return done || r->error != MPI_SUCCESS;
}

static int test_all(void *argument)
{
    struct requests *r = argument;
    int done = 0;
    r->error = PMPI_Testall(r->count, r->requests, &done, r->statuses);
    return done || r->error != MPI_SUCCESS;
}

static int test_any(void *argument)
{
    struct requests *r = argument;
    int done = 0;
    r->error = PMPI_Testany(r->count, r->requests, r->found, &done, r->statuses);
    return done || r->error != MPI_SUCCESS;
}

static int test_some(void *argument)
{
    struct requests *r = argument;
    r->error = PMPI_Testsome(r->count, r->requests, r->found, r->indices, r->statuses);
    return *r->found != 0 || r->error != MPI_SUCCESS; /* MPI_UNDEFINED: none is active */
}

/* Messages of requests that the program has made. */
static struct aware_end some(const char *call)
{
    struct aware_end end = {call, -1, -1, OMPX_MESSAGES, MPI_COMM_NULL};
    return end;
}

/* Completes one request. */
static int complete(MPI_Request *request, MPI_Status *status, struct aware_end end)
{
    struct requests one = {.requests = request, .statuses = status};
    aware_wait(test_one, &one, &end);
    return one.error;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return aware_suspends() ? complete(request, status, some("MPI_Wait")) : PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    if (!aware_suspends())
        return PMPI_Waitall(count, requests, statuses);
    struct requests all = {.count = count, .requests = requests, .statuses = statuses};
    struct aware_end end = some("MPI_Waitall");
    aware_wait(test_all, &all, &end);
    return all.error;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    if (!aware_suspends())
        return PMPI_Waitany(count, requests, index, status);
    struct requests all = {.count = count, .found = index, .requests = requests, .statuses = status};
    struct aware_end end = some("MPI_Waitany");
    aware_wait(test_any, &all, &end);
    return all.error;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[])
{
    if (!aware_suspends())
        return PMPI_Waitsome(count, requests, found, indices, statuses);
    struct requests all = {
        .count = count, .found = found, .indices = indices, .requests = requests, .statuses = statuses};
    struct aware_end end = some("MPI_Waitsome");
    aware_wait(test_some, &all, &end);
    return all.error;
}

/* ---- sending and receiving
 * ----------------------------------------------------------------------------------------- */

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    if (source == MPI_PROC_NULL || !aware_suspends()) /* MPICH's request for nobody has no status */
        return PMPI_Recv(buffer, count, type, source, tag, comm, status);
    MPI_Request request;
    struct aware_end end = {"MPI_Recv", source, tag, OMPX_RECEIVES, comm};
    int error = PMPI_Irecv(buffer, count, type, source, tag, comm, &request);
    return error != MPI_SUCCESS ? error : complete(&request, status, end);
}

int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    if (!aware_suspends())
        return PMPI_Mrecv(buffer, count, type, message, status);
    MPI_Request request;
    int error = PMPI_Imrecv(buffer, count, type, message, &request);
    return error != MPI_SUCCESS ? error : complete(&request, status, some("MPI_Mrecv"));
}

#define SENDS(name, twin) \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm) \
    { \
        if (!aware_suspends()) \
            return PMPI_##name(buffer, count, type, target, tag, comm); \
        MPI_Request request; \
        struct aware_end end = {"MPI_" #name, target, tag, OMPX_SENDS, comm}; \
        int error = PMPI_##twin(buffer, count, type, target, tag, comm, &request); \
        return error != MPI_SUCCESS ? error : complete(&request, MPI_STATUS_IGNORE, end); \
    }

SENDS(Send, Isend)
SENDS(Ssend, Issend)
SENDS(Rsend, Irsend)

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int target, int out_tag, void *in,
                 int in_count, MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    if (!aware_suspends())
        return PMPI_Sendrecv(out, out_count, out_type, target, out_tag, in, in_count, in_type, source, in_tag,
                             comm, status);
    if (source == MPI_PROC_NULL) {
        int error = MPI_Send(out, out_count, out_type, target, out_tag, comm);
        int second = PMPI_Recv(in, in_count, in_type, source, in_tag, comm, status);
        return error != MPI_SUCCESS ? error : second;
    }
    MPI_Request receive, send;
    int error = PMPI_Irecv(in, in_count, in_type, source, in_tag, comm, &receive);
    if (error != MPI_SUCCESS)
        return error;
    error = PMPI_Isend(out, out_count, out_type, target, out_tag, comm, &send);
    if (error != MPI_SUCCESS) {
        PMPI_Cancel(&receive);
        PMPI_Wait(&receive, MPI_STATUS_IGNORE);
        return error;
    }
    struct aware_end sends = {"MPI_Sendrecv", target, out_tag, OMPX_SENDS, comm};
    struct aware_end receives = {"MPI_Sendrecv", source, in_tag, OMPX_RECEIVES, comm};
    error = complete(&send, MPI_STATUS_IGNORE, sends);
    int second = complete(&receive, status, receives);
    return error != MPI_SUCCESS ? error : second;
}

/* ---- probing
 * ------------------------------------------------------------------------------------------------------- */

struct probe {
    int source, tag, found, error;
    MPI_Comm comm;
    MPI_Message *message; /* null: MPI_Probe */
    MPI_Status *status;
};

static int has_come(void *argument)
{
    struct probe *p = argument;
    p->error = p->message ? PMPI_Improbe(p->source, p->tag, p->comm, &p->found, p->message, p->status)
                          : PMPI_Iprobe(p->source, p->tag, p->comm, &p->found, p->status);
    return p->found || p->error != MPI_SUCCESS;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    if (!aware_suspends())
        return PMPI_Probe(source, tag, comm, status);
    struct probe probe = {.source = source, .tag = tag, .comm = comm, .status = status};
    struct aware_end end = {"MPI_Probe", source, tag, OMPX_RECEIVES, comm};
    aware_wait(has_come, &probe, &end);
    return probe.error;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    if (!aware_suspends())
        return PMPI_Mprobe(source, tag, comm, message, status);
    struct probe probe = {.source = source, .tag = tag, .comm = comm, .message = message, .status = status};
    struct aware_end end = {"MPI_Mprobe", source, tag, OMPX_RECEIVES, comm};
    aware_wait(has_come, &probe, &end);
    return probe.error;
}

/* ---- collectives
 * --------------------------------------------------------------------------------------------------- */

static void blocks(void)
{
    if (ompx_blocks && is_multiple())
        ompx_blocks();
}

#define COLLECTIVE(name, parameters, arguments) \
    int MPI_##name parameters \
    { \
        blocks(); \
        return PMPI_##name arguments; \
    }

COLLECTIVE(Barrier, (MPI_Comm comm), (comm))
COLLECTIVE(Bcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
           (buffer, count, type, root, comm))
COLLECTIVE(Reduce,
           (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
           (in, out, count, type, op, root, comm))
COLLECTIVE(Allreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, count, type, op, comm))
COLLECTIVE(Scan, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, count, type, op, comm))
COLLECTIVE(Gather,
           (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, root, comm))
COLLECTIVE(Scatter,
           (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, root, comm))
COLLECTIVE(Allgather,
           (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
            MPI_Datatype out_type, MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, comm))
COLLECTIVE(Alltoall,
           (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
            MPI_Datatype out_type, MPI_Comm comm),
           (in, in_count, in_type, out, out_count, out_type, comm))
COLLECTIVE(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
COLLECTIVE(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
