/* Heat in a plate by Jacobi's method: every cell becomes the mean of its four neighbours, again and again.
 * The plate is cut into bands of rows, which live on the ranks. A task sweeps over a band; what it needs of
 * the bands above and below are their edges, one row each, and those are all that travels. There is no
 * barrier: a band's next sweep waits for the edges beside it, no more.
 *
 *     jacobi [columns [sweeps]] */
#include "example.h"
#include <math.h>

enum { BANDS = 8, ROWS = 16 };

/* One sweep over `rows` rows, with the row above them and the row below. */
static void sweep(double *restrict to, const double *restrict from, const double *above, const double *below,
                  int rows, long columns)
{
    for (int r = 0; r < rows; r++) {
        const double *row = from + r * columns;
        const double *up = r > 0 ? row - columns : above, *down = r < rows - 1 ? row + columns : below;
        to[r * columns] = row[0];
        to[r * columns + columns - 1] = row[columns - 1];
        for (long c = 1; c < columns - 1; c++)
            to[r * columns + c] = (up[c] + down[c] + row[c - 1] + row[c + 1]) * 0.25;
    }
}

/* The task: band `old` becomes band `new`, both there already; `edges` gets its first row and its last one.
 */
static void sweep_task(int band, double *new, double *old, double *above, double *below, double *edges,
                       long columns)
{
    long cells = ROWS * columns;
#pragma omp target nowait device(home(band)) depend(in : above[0], below[0]) depend(inout : old[0]) \
    depend(out : new[0], edges[0], edges[columns]) \
    map(to : new[0 : cells], old[0 : cells], above[0 : columns], below[0 : columns]) \
    map(from : edges[0 : 2 * columns])
    {
        sweep(new, old, above, below, ROWS, columns);
        for (long c = 0; c < columns; c++) {
            edges[c] = new[c];
            edges[columns + c] = new[cells - columns + c];
        }
    }
}

int main(int argc, char **argv)
{
    long columns = argument(argc, argv, 1, 128), sweeps = argument(argc, argv, 2, 20), cells = ROWS * columns;
    if (has_nothing_to_begin())
        return 0;
    /* The plate now and after the next sweep, with a row above it that is hot and one below that is cold; the
     * same once more, for one process alone; the edges of the bands now and after the next sweep. */
    double *plate[2], *alone[2], *edges[2], *rim = memory(2 * columns * sizeof *rim);
    for (int p = 0; p < 2; p++) {
        plate[p] = calloc(BANDS * cells, sizeof(double));
        alone[p] = calloc(BANDS * cells, sizeof(double));
        edges[p] = calloc(BANDS * 2 * columns, sizeof(double));
        if (!plate[p] || !alone[p] || !edges[p])
            return fprintf(stderr, "no memory\n"), 1;
    }
    for (long c = 0; c < columns; c++) {
        rim[c] = 100;
        rim[columns + c] = 0;
    }
    double begin = omp_get_wtime();

#pragma omp parallel
#pragma omp single
    {
        for (int b = 0; b < BANDS; b++) {
            double *old = plate[0] + b * cells, *new = plate[1] + b *cells;
#pragma omp target enter data nowait device(home(b)) depend(out : old[0], new[0]) \
    map(to : old[0 : cells], new[0 : cells])
        }
        for (long s = 0; s < sweeps; s++)
            for (int b = 0; b < BANDS; b++) {
                double *old = plate[s % 2] + b * cells, *new = plate[1 - s % 2] + b *cells,
                       *now = edges[s % 2];
                double *above = b > 0 ? now + (2 * b - 1) * columns : rim,
                       *below = b < BANDS - 1 ? now + 2 * (b + 1) * columns : rim + columns;
                sweep_task(b, new, old, above, below, edges[1 - s % 2] + 2 * b * columns, columns);
            }
        for (int b = 0; b < BANDS; b++) {
            double *old = plate[0] + b * cells, *new = plate[1] + b *cells;
#pragma omp target exit data nowait device(home(b)) depend(inout : old[0], new[0]) \
    map(from : old[0 : cells], new[0 : cells])
        }
    }
    double seconds = omp_get_wtime() - begin, error = 0, heat = 0, *got = plate[sweeps % 2],
           *want = alone[sweeps % 2];

    for (long s = 0; s < sweeps; s++)
        sweep(alone[1 - s % 2], alone[s % 2], rim, rim + columns, BANDS * ROWS, columns);
    for (long i = 0; i < BANDS * cells; i++) {
        error = fmax(error, fabs(got[i] - want[i]));
        heat += got[i];
    }
    int right = error < 1e-9;
    printf("jacobi: %d x %ld cells, %ld sweeps, heat %.6f, %s\n", BANDS * ROWS, columns, sweeps, heat,
           right ? "right" : "WRONG");
    printf("  %.3f s\n", seconds);
    for (int p = 0; p < 2; p++) {
        free(plate[p]);
        free(alone[p]);
        free(edges[p]);
    }
    free(rim);
    return !right;
}
