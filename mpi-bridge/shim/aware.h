/* What aware.c and aware_fortran.c share. */
#ifndef AWARE_H
#define AWARE_H

#define OMPX_WEAK
#include "ompx.h"
#include <mpi.h>

#define AWARE_INTERNAL __attribute__((visibility("hidden")))

/* Is a blocking call here to suspend its thread? */
AWARE_INTERNAL int aware_suspends(void);

/* Returns when test(argument) has answered with another value than 0; the calling thread is suspended until then. */
AWARE_INTERNAL void aware_wait(int (*test)(void *), void *argument);

/* From here on errors are handled in a way that only MPI's own calls know. */
AWARE_INTERNAL void aware_handles_errors(void);

#endif
