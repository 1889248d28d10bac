// QR by Householder reflections. A block column is one local QR (as on one rank of a communication-avoiding
// factorization); what lies to its right is updated with I - V T^T V^T, V being the block column and T one
// upper triangle. When several ranks share the block column, each does this for its own tiles, and joins
// follow (geqrf_tree.cpp).
#include "blas.hpp"
#include "geqrf_tree.hpp"
#include "routines.hpp"

namespace {

/// W_j = V^T C_top,j, where V is the unit lower triangle of the tile that is the first of its rank in block
/// column k.
void start_product(TileMatrix &a, TileMatrix &w, int top, int k, int j)
{
    const Tile v = a.read(top, k), c = a.read(top, j), product = w.write(0, j);
    for (int column = 0; column < c.cols; ++column)
        for (int row = 0; row < c.rows; ++row)
            *product.at(row, column) = *c.at(row, column);
    blas::trmm('L', 'L', 'T', 'U', c.rows, c.cols, 1.0, v.data, v.ld, product.data, product.ld);
}

/// W_j += V_i^T C_ij.
void add_to_product(TileMatrix &a, TileMatrix &w, int k, int i, int j)
{
    const Tile v = a.read(i, k), c = a.read(i, j), product = w.write(0, j);
    blas::gemm('T', 'N', v.cols, c.cols, v.rows, 1.0, v.data, v.ld, c.data, c.ld, 1.0, product.data,
               product.ld);
}

/// C_ij -= V_i W_j.
void subtract_product(TileMatrix &a, TileMatrix &w, int k, int i, int j)
{
    const Tile v = a.read(i, k), product = w.read(0, j), c = a.write(i, j);
    blas::gemm('N', 'N', c.rows, c.cols, v.cols, -1.0, v.data, v.ld, product.data, product.ld, 1.0, c.data,
               c.ld);
}

/// C_top,j -= V W_j, which uses W_j up.
void finish_top(TileMatrix &a, TileMatrix &w, int top, int k, int j)
{
    const Tile v = a.read(top, k), product = w.write(0, j), c = a.write(top, j);
    blas::trmm('L', 'L', 'N', 'U', c.rows, c.cols, 1.0, v.data, v.ld, product.data, product.ld);
    for (int column = 0; column < c.cols; ++column)
        for (int row = 0; row < c.rows; ++row)
            *c.at(row, column) -= *product.at(row, column);
}

/// Factors block column k, and sends it and its T along the row of ranks.
void factor_panel(TileMatrix &a, TileMatrix &t, int k, Context context)
{
    const Grid &grid = context.grid;
    if (grid.in_column(k))
        geqrf_panel(a, t, k, context);
    join_panel(a, t, grid, k);
    for (int row = 0; row < t.mt(); ++row)
        grid.broadcast(t, row, k, Topic::upper, grid.row(row));
    for (int i = k; i < a.mt(); ++i)
        grid.broadcast(a, i, k, Topic::panel, grid.row(i));
}

/// Updates the caller's tiles in block columns `first` up to, not including, `end` with its tiles in block
/// column k. W_j is the column's own, so that tasks on other columns may be under way.
void update_tiles(TileMatrix &a, TileMatrix &t, TileMatrix &w, const Grid &grid, int k, int first, int end,
                  int priority)
{
    const int top = grid.first_row(k), step = grid.p();
    if (top >= a.mt())
        return;
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        if (!grid.in_column(j))
            continue;
#pragma omp task shared(a, w) firstprivate(top, k, j) priority(priority)
        start_product(a, w, top, k, j);
    }
    for (int i = top + step; i < a.mt(); i += step) { // one after the other: all add to the same W_j
#pragma omp taskgroup
        for (int j = first; j < end; ++j) {
            if (!grid.in_column(j))
                continue;
#pragma omp task shared(a, w) firstprivate(k, i, j) priority(priority)
            add_to_product(a, w, k, i, j);
        }
    }
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        if (!grid.in_column(j))
            continue;
#pragma omp task shared(t, w, grid) firstprivate(top, k, j) priority(priority)
        {
            const Tile tk = t.read(local_t(grid, top), k), product = w.write(0, j);
            blas::trmm('L', 'U', 'T', 'N', tk.cols, product.cols, 1.0, tk.data, tk.ld, product.data,
                       product.ld);
        }
    }
#pragma omp taskgroup
    for (int i = top + step; i < a.mt(); i += step) {
        for (int j = first; j < end; ++j) {
            if (!grid.in_column(j))
                continue;
#pragma omp task shared(a, w) firstprivate(k, i, j) priority(priority)
            subtract_product(a, w, k, i, j);
        }
    }
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        if (!grid.in_column(j))
            continue;
#pragma omp task shared(a, w) firstprivate(top, k, j) priority(priority)
        finish_top(a, w, top, k, j);
    }
}

/// Updates block columns with block column k: the caller's own tiles, then the joins.
void update_columns(TileMatrix &a, TileMatrix &t, TileMatrix &w, const Grid &grid, int k, int first, int end,
                    int priority)
{
    update_tiles(a, t, w, grid, k, first, end, priority);
    apply_joins(a, t, grid, k, first, end);
}

} // namespace

void geqrf(TileMatrix &a, TileMatrix &t, Context context)
{
    TileMatrix products(a.nb(), a.cols(), a.nb());
#pragma omp parallel num_threads(context.options.threads) shared(a, t, products, context)
#pragma omp master
    {
        const int high = context.high();
        TileMatrix *m = &a, *factors = &t, *w = &products;
        const Grid *grid = &context.grid;
        outer_tasks(
            a.nt(), context, [=](int k) { factor_panel(*m, *factors, k, context); },
            [=](int k, int j) { update_columns(*m, *factors, *w, *grid, k, j, j + 1, high); },
            [=](int k, int first) { update_columns(*m, *factors, *w, *grid, k, first, m->nt(), 0); });
    }
}
