// Cholesky. The panel has no region of its own: potrf of the diagonal tile, then one trsm per tile below.
#include "blas.hpp"
#include "routines.hpp"

#include <algorithm>

namespace {

/// The ranks that update with tile (i, k): on the left in row i, on the right in column i.
std::vector<int> users(const Grid &grid, int i)
{
    std::vector<int> ranks = grid.row(i);
    for (int rank : grid.column(i))
        if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
            ranks.push_back(rank);
    return ranks;
}

/// Returns what LAPACK's potrf says of the diagonal tile, where that is.
int factor_panel(TileMatrix &a, const Grid &grid, int k, int priority)
{
    int info = 0;
    if (grid.mine(k, k)) {
        const Tile diagonal = a.write(k, k);
        info = blas::potrf_lower(diagonal.rows, diagonal.data, diagonal.ld);
    }
    grid.broadcast(a, k, k, Topic::panel, grid.column(k));
#pragma omp taskgroup
    for (int i = k + 1; i < a.mt(); ++i) {
        if (!grid.mine(i, k))
            continue;
#pragma omp task shared(a) firstprivate(i, k) priority(priority)
        {
            const Tile l = a.read(k, k);
            const Tile x = a.write(i, k);
            blas::trsm('R', 'L', 'T', 'N', x.rows, x.cols, l.data, l.ld, x.data, x.ld);
        }
    }
    for (int i = k + 1; i < a.mt(); ++i)
        grid.broadcast(a, i, k, Topic::panel, users(grid, i));
    return info;
}

/// A(i, j) -= A(i, k) A(j, k)^T, of which only the lower triangle when i == j.
void update_tile(TileMatrix &a, int k, int i, int j)
{
    const Tile left = a.read(i, k);
    if (i == j) {
        const Tile c = a.write(j, j);
        blas::syrk_lower(c.rows, left.cols, left.data, left.ld, c.data, c.ld);
    } else {
        const Tile right = a.read(j, k);
        const Tile c = a.write(i, j);
        blas::gemm('N', 'T', c.rows, c.cols, left.cols, -1.0, left.data, left.ld, right.data, right.ld, 1.0,
                   c.data, c.ld);
    }
}

/// Updates the lower triangle of block columns `first` up to, not including, `end` with block column k.
void update_columns(TileMatrix &a, const Grid &grid, int k, int first, int end, int priority)
{
#pragma omp taskgroup
    for (int j = first; j < end; ++j) {
        for (int i = j; i < a.mt(); ++i) {
            if (!grid.mine(i, j))
                continue;
#pragma omp task shared(a) firstprivate(i, j, k) priority(priority)
            update_tile(a, k, i, j);
        }
    }
}

} // namespace

int potrf(TileMatrix &a, Context context)
{
    int info = 0; // written by panels only, which follow one another
#pragma omp parallel num_threads(context.options.threads) shared(a, context, info)
#pragma omp master
    {
        const int high = context.high();
        TileMatrix *m = &a;
        const Grid *grid = &context.grid;
        int *first_bad = &info;
        outer_tasks(
            a.nt(), context,
            [=](int k) {
                if (factor_panel(*m, *grid, k, high) != 0 && *first_bad == 0)
                    *first_bad = k + 1;
            },
            [=](int k, int j) { update_columns(*m, *grid, k, j, j + 1, high); },
            [=](int k, int first) { update_columns(*m, *grid, k, first, m->nt(), 0); });
    }
    return info;
}
