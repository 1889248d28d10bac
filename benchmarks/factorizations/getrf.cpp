// LU with partial pivoting. Rows of the columns to the right are exchanged by the tasks that update them,
// rows to the left when everything is factored.
#include "blas.hpp"
#include "routines.hpp"
#include "swap_rows.hpp"

#include <utility>

namespace {

/// Exchanges rows of block column j as the pivots of block column k say. Column after column, for the cache's
/// sake.
void permute_column(TileMatrix &a, int k, int j, const std::vector<Pivot> &pivots)
{
    std::vector<Tile> tiles;
    for (int i = k; i < a.mt(); ++i)
        tiles.push_back(a.write(i, j));
    for (int c = 0; c < tiles[0].cols; ++c) {
        for (int r = 0; r < static_cast<int>(pivots.size()); ++r)
            std::swap(*tiles[0].at(r, c), *tiles[pivots[r].tile].at(pivots[r].row, c));
    }
}

/// The same for block columns `first` up to, not including, `end`.
void permute_columns(TileMatrix &a, const Grid &grid, int k, int first, int end,
                     const std::vector<Pivot> &pivots, int priority)
{
    if (grid.p() > 1) { // ranks talk to each other here, and must go through the columns in one order
        for (int j = first; j < end; ++j)
            for (int r = 0; grid.in_column(j) && r < static_cast<int>(pivots.size()); ++r)
                swap_rows(grid, a, k, j, r, pivots[r]);
        return;
    }
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        if (!grid.in_column(j))
            continue;
#pragma omp task shared(a, pivots) firstprivate(k, j) priority(priority)
        permute_column(a, k, j, pivots);
    }
}

/// Factors block column k, and sends it and its pivots to those who need them.
void factor_panel(TileMatrix &a, int k, std::vector<Pivot> &pivots, Context context)
{
    const Grid &grid = context.grid;
    pivots.resize(a.tile_cols(k));
    if (grid.in_column(k))
        getrf_panel(a, k, pivots, context);
    grid.broadcast(pivots.data(), static_cast<int>(pivots.size() * sizeof(Pivot)), grid.owner(k, k), k,
                   Topic::pivots);
    for (int i = k; i < a.mt(); ++i)
        grid.broadcast(a, i, k, Topic::panel, grid.row(i));
}

/// Updates block columns `first` up to, not including, `end` with block column k: exchange, solve, multiply.
void update_columns(TileMatrix &a, const Grid &grid, const std::vector<Pivot> &pivots, int k, int first,
                    int end, int priority)
{
    permute_columns(a, grid, k, first, end, pivots, priority);
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        if (!grid.mine(k, j))
            continue;
#pragma omp task shared(a) firstprivate(k, j) priority(priority)
        {
            const Tile l = a.read(k, k);
            const Tile u = a.write(k, j);
            blas::trsm('L', 'L', 'N', 'U', u.rows, u.cols, l.data, l.ld, u.data, u.ld);
        }
    }
    for (int j = first; j < end; ++j)
        grid.broadcast(a, k, j, Topic::upper, grid.column(j));
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        for (int i = k + 1; i < a.mt(); ++i) {
            if (!grid.mine(i, j))
                continue;
#pragma omp task shared(a) firstprivate(i, j, k) priority(priority)
            {
                const Tile l = a.read(i, k);
                const Tile u = a.read(k, j);
                const Tile c = a.write(i, j);
                blas::gemm('N', 'N', c.rows, c.cols, l.cols, -1.0, l.data, l.ld, u.data, u.ld, 1.0, c.data,
                           c.ld);
            }
        }
    }
}

} // namespace

void getrf(TileMatrix &a, Pivots &pivots, Context context)
{
    pivots.assign(a.nt(), {});
#pragma omp parallel num_threads(context.options.threads) shared(a, pivots, context)
#pragma omp master
    {
        const int high = context.high();
        TileMatrix *m = &a;
        const Grid *grid = &context.grid;
        Pivots *p = &pivots;
        outer_tasks(
            a.nt(), context, [=](int k) { factor_panel(*m, k, (*p)[k], context); },
            [=](int k, int j) { update_columns(*m, *grid, (*p)[k], k, j, j + 1, high); },
            [=](int k, int first) { update_columns(*m, *grid, (*p)[k], k, first, m->nt(), 0); });
        for (int k = 1; k < a.nt(); ++k)
            permute_columns(a, *grid, k, 0, k, pivots[k], 0);
    }
}
