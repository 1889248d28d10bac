/* example.h: what the examples of this directory share. docs/distributed.md says how to build and run them.
 *
 * The functions of ompx.h are weak here, so the same binary also starts under another OpenMP runtime, and
 * runs on the host then. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#define OMPX_WEAK
#include "ompx.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* For the device clause: whichever rank has least to do. */
static inline int any_rank(void)
{
    return ompx_device_any ? ompx_device_any() : omp_get_default_device();
}

/* For the device clause: the rank where block number `block` lives. Blocks are dealt out in turns. */
static inline int home(long block)
{
    int devices = omp_get_num_devices();
    return devices > 0 ? (int)(block % devices) : omp_get_initial_device();
}

/* The rank of the process that calls. In a target region: of the rank that runs it. */
static inline int rank_here(void)
{
    return ompx_cluster_rank ? ompx_cluster_rank() : 0;
}

/* With OMPX_CLUSTER=spmd every rank runs main. All but one leave it at once, and go on running tasks for that
 * one. */
static inline int has_nothing_to_begin(void)
{
    return rank_here() != 0;
}

/* A number from the command line. */
static inline long argument(int argc, char **argv, int at, long otherwise)
{
    return argc > at ? atol(argv[at]) : otherwise;
}

/* Memory, or the end of the program. */
static inline void *memory(size_t bytes)
{
    void *got = malloc(bytes);
    if (!got) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return got;
}

/* Prints how many of the tasks ran on each rank; on[t] is where task t did. */
static inline void print_tasks_per_rank(const int *on, int tasks, double seconds)
{
    int ranks = ompx_cluster_size ? ompx_cluster_size() : 1;
    printf("  %.3f s; tasks on each rank:", seconds);
    for (int rank = 0; rank < ranks; rank++) {
        int count = 0;
        for (int t = 0; t < tasks; t++)
            count += on[t] == rank;
        printf(" %d", count);
    }
    printf("\n");
}

#endif
