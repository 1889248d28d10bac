/* What aware.c and aware_fortran.c share. */
#ifndef AWARE_H
#define AWARE_H

#define OMPX_WEAK
#include "ompx.h"
#include <mpi.h>

#define AWARE_INTERNAL __attribute__((visibility("hidden")))

/* Is a blocking call here to suspend its thread? */
AWARE_INTERNAL int aware_suspends(void);

/* What a call waits for: as ompx_message_t, of a communicator. */
struct aware_end {
    const char *call;
    int rank, tag, end;
    MPI_Comm comm;
};

/* Returns when test(argument) has answered with another value than 0; the calling thread is suspended until
 * then. */
AWARE_INTERNAL void aware_wait(int (*test)(void *), void *argument, const struct aware_end *end);

/* From here on errors are handled in a way that only MPI's own calls know. */
AWARE_INTERNAL void aware_handles_errors(void);

#endif
