/* Fortran's names for the calls of aware.c, for Open MPI, whose Fortran library calls PMPI functions.
 * (MPICH's calls MPI_Recv and the like, so aware.c has its calls already.) `mpi_recv_` is what `mpif.h` and
 * `use mpi` call, `ompi_recv_f` what `use mpi_f08` comes to.
 *
 * Each begins and completes its request by Fortran's own routines, so that Open MPI converts handles,
 * MPI_BOTTOM and status. These are weak references: a program in C has no such library.
 */
#include "aware.h"

typedef MPI_Fint F;

#define WEAK __attribute__((weak))

/* The routine under both names. */
#define NAMES(name, parameters) \
    void mpi_##name##_ parameters; \
    void ompi_##name##_f parameters __attribute__((alias("mpi_" #name "_"))); \
    void mpi_##name##_ parameters

#define SEND_PARAMETERS void *buffer, F *count, F *type, F *target, F *tag, F *comm
#define RECV_PARAMETERS void *buffer, F *count, F *type, F *source, F *tag, F *comm
#define BOTH_PARAMETERS \
    void *out, F *out_count, F *out_type, F *target, F *out_tag, void *in, F *in_count, F *in_type, \
        F *source, F *in_tag, F *comm

WEAK void pmpi_recv_(RECV_PARAMETERS, F *status, F *error);
WEAK void pmpi_irecv_(RECV_PARAMETERS, F *request, F *error);
WEAK void pmpi_sendrecv_(BOTH_PARAMETERS, F *status, F *error);
WEAK void pmpi_test_(F *request, F *done, F *status, F *error);
WEAK void pmpi_testall_(F *count, F *requests, F *done, F *statuses, F *error);
WEAK void pmpi_wait_(F *request, F *status, F *error);
WEAK void pmpi_waitall_(F *count, F *requests, F *statuses, F *error);
WEAK void pmpi_probe_(F *source, F *tag, F *comm, F *status, F *error);
WEAK void pmpi_iprobe_(F *source, F *tag, F *comm, F *found, F *status, F *error);
WEAK void pmpi_cancel_(F *request, F *error);

/* Requests in Fortran's form, and the other arguments of a call that completes them. */
struct requests {
    F *count, *requests, *statuses, *error;
};

static int test_one(void *argument)
{
    struct requests *r = argument;
    F done = 0;
    pmpi_test_(r->requests, &done, r->statuses, r->error);
    return done || *r->error != MPI_SUCCESS;
}

static int test_all(void *argument)
{
    struct requests *r = argument;
    F done = 0;
    pmpi_testall_(r->count, r->requests, &done, r->statuses, r->error);
    return done || *r->error != MPI_SUCCESS;
}

/* For GANGWAY_CHECK. */
static struct aware_end an_end(const char *call, int end, const F *rank, const F *tag, const F *comm)
{
    struct aware_end known = {call, (int)*rank, (int)*tag, end, PMPI_Comm_f2c(*comm)};
    return known;
}

static struct aware_end some(const char *call)
{
    struct aware_end end = {call, -1, -1, OMPX_MESSAGES, MPI_COMM_NULL};
    return end;
}

static void complete(F *request, F *status, F *error, struct aware_end end)
{
    struct requests one = {.requests = request, .statuses = status, .error = error};
    aware_wait(test_one, &one, &end);
}

NAMES(wait, (F * request, F *status, F *error))
{
    if (aware_suspends())
        complete(request, status, error, some("mpi_wait"));
    else
        pmpi_wait_(request, status, error);
}

NAMES(waitall, (F * count, F *requests, F *statuses, F *error))
{
    struct requests all = {count, requests, statuses, error};
    struct aware_end end = some("mpi_waitall");
    if (aware_suspends())
        aware_wait(test_all, &all, &end);
    else
        pmpi_waitall_(count, requests, statuses, error);
}

NAMES(recv, (RECV_PARAMETERS, F *status, F *error))
{
    if (!aware_suspends()) {
        pmpi_recv_(buffer, count, type, source, tag, comm, status, error);
        return;
    }
    F request;
    pmpi_irecv_(buffer, count, type, source, tag, comm, &request, error);
    if (*error == MPI_SUCCESS)
        complete(&request, status, error, an_end("mpi_recv", OMPX_RECEIVES, source, tag, comm));
}

#define SENDS(name, twin) \
    WEAK void pmpi_##name##_(SEND_PARAMETERS, F *error); \
    WEAK void pmpi_##twin##_(SEND_PARAMETERS, F *request, F *error); \
    NAMES(name, (SEND_PARAMETERS, F * error)) \
    { \
        if (!aware_suspends()) { \
            pmpi_##name##_(buffer, count, type, target, tag, comm, error); \
            return; \
        } \
        F request; \
        pmpi_##twin##_(buffer, count, type, target, tag, comm, &request, error); \
        if (*error == MPI_SUCCESS) \
            complete(&request, MPI_F_STATUS_IGNORE, error, \
                     an_end("mpi_" #name, OMPX_SENDS, target, tag, comm)); \
    }

SENDS(send, isend)
SENDS(ssend, issend)
SENDS(rsend, irsend)

NAMES(sendrecv, (BOTH_PARAMETERS, F *status, F *error))
{
    if (!aware_suspends()) {
        pmpi_sendrecv_(out, out_count, out_type, target, out_tag, in, in_count, in_type, source, in_tag, comm,
                       status, error);
        return;
    }
    F receive, send, other = MPI_SUCCESS;
    pmpi_irecv_(in, in_count, in_type, source, in_tag, comm, &receive, error);
    if (*error != MPI_SUCCESS)
        return;
    pmpi_isend_(out, out_count, out_type, target, out_tag, comm, &send, error);
    if (*error != MPI_SUCCESS) {
        pmpi_cancel_(&receive, &other);
        pmpi_wait_(&receive, MPI_F_STATUS_IGNORE, &other);
        return;
    }
    complete(&send, MPI_F_STATUS_IGNORE, error, an_end("mpi_sendrecv", OMPX_SENDS, target, out_tag, comm));
    complete(&receive, status, &other, an_end("mpi_sendrecv", OMPX_RECEIVES, source, in_tag, comm));
    *error = *error != MPI_SUCCESS ? *error : other;
}

struct probe {
    F *source, *tag, *comm, *status, *error;
};

static int has_come(void *argument)
{
    struct probe *p = argument;
    F found = 0;
    pmpi_iprobe_(p->source, p->tag, p->comm, &found, p->status, p->error);
    return found || *p->error != MPI_SUCCESS;
}

NAMES(probe, (F * source, F *tag, F *comm, F *status, F *error))
{
    struct probe probe = {source, tag, comm, status, error};
    struct aware_end end = an_end("mpi_probe", OMPX_RECEIVES, source, tag, comm);
    if (!aware_suspends())
        pmpi_probe_(source, tag, comm, status, error);
    else
        aware_wait(has_come, &probe, &end);
}

WEAK void pmpi_comm_create_errhandler_(void (*function)(void), F *handler, F *error);

NAMES(comm_create_errhandler, (void (*function)(void), F *handler, F *error))
{
    aware_handles_errors();
    pmpi_comm_create_errhandler_(function, handler, error);
}
