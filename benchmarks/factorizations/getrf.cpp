// LU with partial pivoting. Rows of the columns to the right are exchanged by the tasks that update them, rows to the left
// when everything is factored.
#include "blas.hpp"
#include "routines.hpp"

#include <utility>

namespace {

/// Exchanges rows of block column j as the pivots of block column k say. Column after column, for the cache's sake.
void permute_column(TileMatrix& a, int k, int j, const std::vector<Pivot>& pivots)
{
    std::vector<Tile> tiles;
    for (int i = k; i < a.mt(); ++i)
        tiles.push_back(a.write(i, j));
    for (int c = 0; c < tiles[0].cols; ++c) {
        for (int r = 0; r < static_cast<int>(pivots.size()); ++r)
            std::swap(*tiles[0].at(r, c), *tiles[pivots[r].tile].at(pivots[r].row, c));
    }
}

/// Updates block columns `first` up to, not including, `end` with block column k: exchange, solve, multiply.
void update_columns(TileMatrix& a, const std::vector<Pivot>& pivots, int k, int first, int end, int priority)
{
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
#pragma omp task shared(a, pivots) firstprivate(k, j) priority(priority)
        permute_column(a, k, j, pivots);
    }
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
#pragma omp task shared(a) firstprivate(k, j) priority(priority)
        {
            const Tile l = a.read(k, k);
            const Tile u = a.write(k, j);
            blas::trsm('L', 'L', 'N', 'U', u.rows, u.cols, l.data, l.ld, u.data, u.ld);
        }
    }
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        for (int i = k + 1; i < a.mt(); ++i) {
#pragma omp task shared(a) firstprivate(i, j, k) priority(priority)
            {
                const Tile l = a.read(i, k);
                const Tile u = a.read(k, j);
                const Tile c = a.write(i, j);
                blas::gemm('N', 'N', c.rows, c.cols, l.cols, -1.0, l.data, l.ld, u.data, u.ld, 1.0, c.data, c.ld);
            }
        }
    }
}

/// Exchanges the rows left of the panels.
void permute_left(TileMatrix& a, const Pivots& pivots)
{
    for (int k = 1; k < a.nt(); ++k) {
#pragma omp taskgroup
        for (int j = 0; j < k; ++j) {
#pragma omp task shared(a, pivots) firstprivate(k, j)
            permute_column(a, k, j, pivots[k]);
        }
    }
}

} // namespace

void getrf(TileMatrix& a, Pivots& pivots, Context context)
{
    pivots.assign(a.nt(), {});
#pragma omp parallel num_threads(context.options.threads) shared(a, pivots, context)
#pragma omp master
    {
        const int high = context.high();
        TileMatrix* m = &a;
        Pivots* p = &pivots;
        outer_tasks(
            a.nt(), context, [=](int k) { getrf_panel(*m, k, (*p)[k], context); },
            [=](int k, int j) { update_columns(*m, (*p)[k], k, j, j + 1, high); },
            [=](int k, int first) { update_columns(*m, (*p)[k], k, first, m->nt(), 0); });
        permute_left(a, pivots);
    }
}
