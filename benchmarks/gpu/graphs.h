/* Graphs of tasks that are target regions, on GPUs of the runtime's choice or of the program's. */
#ifndef GRAPHS_H
#define GRAPHS_H
#include "gpu.h"

/* How a kernel's loop is spread over the GPU. PLAIN leaves it to one thread, for the driver for tests with
 * coherence: there a kernel is code of the host's, and the end of its parallel region would be a point where
 * the host's data become valid (docs/coherence.md), for which the kernel would wait in vain. */
#ifdef PLAIN
#define SPREAD
#define SPREAD_INSIDE
#else
#define SPREAD teams distribute parallel for
#define SPREAD_INSIDE _Pragma("omp parallel for")
#endif

struct graph {
    const char *name;
    void (*prepare)(int is_small); /* once */
    void (*begin)(void);           /* before each run: the first values */
    void (*run)(void);             /* creates all regions; they are over behind the next taskwait */
    void (*check)(void);           /* behind it */
};
extern const struct graph independent_graph, serial_graph, reduction_graph, product_graph, cholesky_graph,
    jacobi_graph, nbody_graph, blr_graph;

/* For the device clause of the next region, which the fixed mapping puts on part `part` of `parts`: in
 * blocks, so neighbours are together. To be called once for each region, before it. */
int place_in_blocks(long part, long parts);

/* The same in turns. */
int place_in_turns(long part);

/* Memory of so many elements, or an end with a line. */
void *room_for(size_t count, size_t size);

/* Some number of 64 bits for each `number`. */
static inline unsigned long mixed(unsigned long number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ul;
    number = (number ^ number >> 27) * 0x94d049bb133111ebul;
    return number ^ number >> 31;
}
#endif
