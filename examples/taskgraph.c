/* A graph of tasks that is made once and run many times: a wave over a grid, step after step
   (include/ompx.h). From the second step on no `depend` is evaluated and no address looked up. Prints what a
   task costs made anew each step, and from the graph.

       gcc -O2 -fopenmp -Iinclude examples/taskgraph.c -o taskgraph */
#include "ompx.h"
#include <omp.h>
#include <stdio.h>
#include <string.h>

#pragma weak ompx_taskgraph_begin
#pragma weak ompx_taskgraph_end
#pragma weak ompx_taskgraph_destroy

enum { N = 40, STEPS = 60 };
static double grid[N][N], again[N][N], (*now)[N];

static void make_tasks(void)
{
    for (int i = 1; i < N; i++)
        for (int j = 1; j < N; j++) {
#pragma omp task depend(in : grid[i - 1][j], grid[i][j - 1]) depend(inout : grid[i][j]) firstprivate(i, j)
            now[i][j] = 0.25 * (now[i][j] + now[i - 1][j] + now[i][j - 1] + 1);
        }
}

int main(void)
{
    double anew = 0, graph_time = 0;
#pragma omp parallel
#pragma omp single
    {
        now = grid;
        double start = omp_get_wtime();
        for (int step = 0; step < STEPS; step++) {
            make_tasks();
#pragma omp taskwait
        }
        anew = omp_get_wtime() - start;
        now = again;
        if (ompx_taskgraph_begin) {
            ompx_taskgraph_t *graph = NULL;
            start = omp_get_wtime();
            for (int step = 0; step < STEPS; step++) {
                if (ompx_taskgraph_begin(&graph))
                    make_tasks();
                ompx_taskgraph_end(&graph);
            }
            graph_time = omp_get_wtime() - start;
            ompx_taskgraph_destroy(&graph);
        }
    }
    double tasks = (N - 1.0) * (N - 1.0) * STEPS;
    if (graph_time == 0) {
        puts("another runtime, which has no graphs");
        return 0;
    }
    printf("%.0f ns per task made anew, %.0f from the graph\n", anew * 1e9 / tasks, graph_time * 1e9 / tasks);
    return memcmp(grid, again, sizeof grid) != 0;
}
