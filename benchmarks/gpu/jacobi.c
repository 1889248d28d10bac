/* The stencil of five points on strips of rows. A strip hands its outer rows to its neighbours as data of
 * their own, so only those go from GPU to GPU. The sums are the host's, exactly. */
#include "graphs.h"

static long strips, rows, width, steps; /* rows of a strip */
static double **field[2], **edge[2];    /* by step; an edge is a strip's first row and its last one */

static void jacobi_prepare(int is_small)
{
    strips = is_small ? 6 : 16, rows = is_small ? 10 : 500, width = is_small ? 512 : 8000,
    steps = is_small ? 8 : 100;
    for (int p = 0; p < 2; p++) {
        field[p] = room_for((size_t)strips + 2, sizeof *field[p]);
        edge[p] = room_for((size_t)strips + 2, sizeof *edge[p]);
        for (long s = 0; s < strips + 2;
             s++) { /* the first and the last one stand for what is around: edges alone */
            field[p][s] = room_for((size_t)(rows * width), sizeof **field[p]);
            edge[p][s] = room_for((size_t)(2 * width), sizeof **edge[p]);
        }
    }
}

static double first_value(long row, long column)
{
    return (double)(mixed((unsigned long)(row * width + column)) % 1024);
}

static void jacobi_begin(void)
{
    for (int p = 0; p < 2; p++)
        for (long s = 0; s < strips + 2; s++)
            for (long r = 0; r < rows; r++)
                for (long k = 0; k < width; k++) {
                    double value = s == 0 || s > strips ? 1 : first_value(s * rows + r, k);
                    field[p][s][r * width + k] = value;
                    if (r == 0)
                        edge[p][s][k] = value;
                    if (r == rows - 1)
                        edge[p][s][width + k] = value;
                }
}

static void jacobi_task(long s, int from)
{
    double *old = field[from][s], *new = field[1 - from][s], *above = edge[from][s - 1],
           *below = edge[from][s + 1], *mine = edge[1 - from][s];
    long h = rows, w = width;
    int device = place_in_blocks(s - 1, strips);
#pragma omp target SPREAD nowait depend(in : old[0], above[0], below[0]) depend(inout : new[0], mine[0]) \
    map(to : old[0 : h * w], above[0 : 2 * w], below[0 : 2 * w]) map(tofrom : new[0 : h * w]) \
    map(tofrom : mine[0 : 2 * w]) firstprivate(h, w) device(device)
    for (long at = 0; at < h * w; at++) {
        long r = at / w, k = at % w;
        double north = r > 0 ? old[at - w] : above[w + k], south = r + 1 < h ? old[at + w] : below[k];
        double west = k > 0 ? old[at - 1] : 0, east = k + 1 < w ? old[at + 1] : 0;
        double value = 0.25 * (north + south + west + east);
        new[at] = value;
        if (r == 0)
            mine[k] = value;
        if (r == h - 1)
            mine[w + k] = value;
    }
}

static void jacobi_run(void)
{
    for (long step = 0; step < steps; step++)
        for (long s = 1; s <= strips; s++)
            jacobi_task(s, (int)(step % 2));
}

/* The host's own, on plain rows, once. */
static double *wanted(void)
{
    static double *kept, *other;
    static long kept_rows;
    if (kept_rows)
        return kept;
    kept_rows = strips * rows;
    size_t count = (size_t)((kept_rows + 2) * width);
    kept = room_for(count, sizeof *kept), other = room_for(count, sizeof *other);
    for (long r = 0; r < kept_rows + 2; r++)
        for (long k = 0; k < width; k++)
            kept[r * width + k] = other[r * width + k] =
                r == 0 || r > kept_rows ? 1 : first_value(rows + r - 1, k);
    for (long step = 0; step < steps; step++) {
#pragma omp parallel for
        for (long r = 1; r <= kept_rows; r++)
            for (long k = 0; k < width; k++) {
                const double *at = kept + r * width + k;
                other[r * width + k] =
                    0.25 * (at[-width] + at[width] + (k > 0 ? at[-1] : 0) + (k + 1 < width ? at[1] : 0));
            }
        double *old = kept;
        kept = other, other = old;
    }
    return kept;
}

static void jacobi_check(void)
{
    const double *host = wanted();
    for (long s = 1; s <= strips; s++)
        for (long at = 0; at < rows * width; at++) {
            double found = field[steps % 2][s][at], right = host[((s - 1) * rows + 1) * width + at];
            MUST(found == right, "Jacobi: element %ld of strip %ld is %.17g, not %.17g", at, s, found, right);
        }
}

const struct graph jacobi_graph = {"Jacobi", jacobi_prepare, jacobi_begin, jacobi_run, jacobi_check};
