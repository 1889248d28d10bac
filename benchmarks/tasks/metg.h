/* What metg.c and the runs on OpenMP and oneTBB share: the graph, its cells, and the body of a
 * task.
 *
 * A graph has steps, and each step a row of cells; a task computes one cell from cells of the row
 * before. There are two rows, in turns, so a task also waits until the cell that it overwrites has
 * been read. */
#ifndef METG_H
#define METG_H

#ifdef __cplusplus
extern "C" {
#endif

/* MOST_BEFORE: the cells at a distance of up to five. */
enum { MOST_WIDTH = 1024, MOST_BEFORE = 11, MOST_PERIOD = 24 };

/* A cell, on a line of its own. */
struct cell {
    unsigned long value;
    char pad[56];
};

/* The cells of the row before that a task reads. */
struct reads {
    int count;
    int cells[MOST_BEFORE];
};

/* After `period` steps the pattern begins again. Only the first `width` cells of a step are
 * computed. */
struct graph {
    int steps, period;
    int width[MOST_PERIOD];
    struct reads reads[MOST_PERIOD][MOST_WIDTH];
};

extern struct graph graph;
extern struct cell rows[2][MOST_WIDTH];

/* Threads, as asked for by --threads. */
extern int team_size;

/* The body of task `i` of `step`: so many iterations of the kernel, then its cell. */
void metg_task(int step, int i, long iterations);

/* What runs the graph: prepares for it, which is not timed, and runs all its tasks. */
void metg_prepare(void);
void metg_run(long iterations);

#ifdef __cplusplus
}
#endif

#endif
