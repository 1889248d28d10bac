/* Tasks with dependences. Nanoseconds for one task. */
#include "probe.h"

#include <omp.h>
#include <string.h>

enum { TASKS = 2000, SIDE = 32, READERS = 8 };

static const double body_us = 5;

static void chain(long times)
{
    long value = 0;
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
#pragma omp single
        for (int j = 0; j < TASKS; ++j) {
#pragma omp task shared(value) depend(inout : value)
            ++value;
        }
    }
    if (value != times * TASKS)
        wrong("tasks of a chain overlapped");
}

static char cells[SIDE + 1][SIDE + 1];
static char each[TASKS];

static void independent(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
#pragma omp single
        for (int j = 0; j < TASKS; ++j) {
#pragma omp task depend(inout : each[j])
            NOTHING;
        }
    }
}

/* One writer, then many readers, and so on. */
static void readers(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
#pragma omp single
        for (int j = 0; j < TASKS; ++j) {
            if (j % (READERS + 1) == 0) {
#pragma omp task depend(inout : each[0])
                NOTHING;
            } else {
#pragma omp task depend(in : each[0])
                NOTHING;
            }
        }
    }
}

/* A cell is one more than the larger of its neighbours above and to the left, if their tasks came first. */
static void cell(int row, int column)
{
    const char above = cells[row - 1][column], left = cells[row][column - 1];
    cells[row][column] = (char)(1 + (above > left ? above : left));
}

static void sweep(int with_work)
{
    memset(cells, 0, sizeof cells);
#pragma omp parallel
#pragma omp single
    for (int row = 1; row <= SIDE; ++row) {
        for (int column = 1; column <= SIDE; ++column) {
#pragma omp task depend(in : cells[row - 1][column], cells[row][column - 1]) depend(out : cells[row][column])
            {
                if (with_work) {
                    ran_here();
                    work(body_us);
                }
                cell(row, column);
            }
        }
    }
    if (cells[SIDE][SIDE] != 2 * SIDE - 1)
        wrong("a cell came before its neighbours");
}

static void wavefront(long times)
{
    for (long i = 0; i < times; ++i)
        sweep(0);
}

static void wavefront_work(long times)
{
    for (long i = 0; i < times; ++i)
        sweep(1);
}

const struct probe dependence_probes[] = {
    {"chain", chain, TASKS, 0, 0, 0},
    {"independent", independent, TASKS, 0, 0, 0},
    {"readers", readers, TASKS, 0, 0, 0},
    {"wavefront", wavefront, SIDE *SIDE, 0, 0, 0},
    {"wavefront_work", wavefront_work, SIDE *SIDE, 0, 0, 0},
    {0, 0, 0, 0, 0, 0},
};
