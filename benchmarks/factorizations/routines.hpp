// The three factorizations.
//
// All have the same graph. One thread of a parallel region makes, for every block column k, a few outer tasks
// whose dependences name one byte per block column:
//
//   panel      inout c[k]                                       factors block column k
//   lookahead  in c[k], inout c[j]          j = k+1 .. k+la     updates column j
//   trailing   in c[k], inout c[k+1+la], inout c[nt-1]          updates the columns after those
//
// Inside an outer task, taskgroups hold one child task per tile, without dependences.
#pragma once

#include "options.hpp"
#include "tile_matrix.hpp"

#include <cstdint>
#include <vector>

/// Where a row of the panel was exchanged with: the row of tiles and the row in it.
struct Pivot {
    int tile;
    int row;
};

/// For every block column, one pivot per row of its diagonal tile; tiles are counted from the diagonal tile.
using Pivots = std::vector<std::vector<Pivot>>;

/// A = L L^T in the lower triangle of A, which must be symmetric positive definite. Returns 0, or the block
/// column (from 1) whose diagonal tile is not positive definite.
int potrf(TileMatrix &a, Context context);

/// P A = L U in place of A, with the row exchanges in `pivots`.
void getrf(TileMatrix &a, Pivots &pivots, Context context);

/// A = Q R: R in the upper triangle, Householder vectors below. Tile (r, k) of `t`, r < p, is the upper
/// triangular T of the reflectors I - V T V^T that row r of the grid of ranks made in block column k; tile (p
/// + r, k) is the T of the join whose bottom tile is in that row (geqrf_tree.hpp). So `t` has 2p rows of
/// tiles.
void geqrf(TileMatrix &a, TileMatrix &t, Context context);

/// Factors block column k from its diagonal tile down, in a region of `context.options.panel_threads`
/// threads.
void getrf_panel(TileMatrix &a, int k, std::vector<Pivot> &pivots, Context context);
void geqrf_panel(TileMatrix &a, TileMatrix &t, int k, Context context);

/// Makes the outer tasks of the graph above and waits for them. To be called by one thread of a region.
///
/// `panel(k)`, `lookahead(k, j)` and `trailing(k, first)` are copied into the tasks, and so must be small.
template <typename Panel, typename Lookahead, typename Trailing>
void outer_tasks(int nt, Context context, Panel panel, Lookahead lookahead, Trailing trailing)
{
    std::vector<std::uint8_t> columns(nt);
    std::uint8_t *c = columns.data();
    const int ahead = context.options.lookahead;
    const int high = context.high();
    Trace *trace = &context.trace;
    for (int k = 0; k < nt; ++k) {
#pragma omp task depend(inout : c[k]) priority(high) firstprivate(k, panel, trace)
        {
            Timed timed(trace->panel);
            panel(k);
        }
        for (int j = k + 1; j <= k + ahead && j < nt; ++j) {
#pragma omp task depend(in : c[k]) depend(inout : c[j]) priority(high) firstprivate(k, j, lookahead, trace)
            {
                Timed timed(trace->lookahead);
                lookahead(k, j);
            }
        }
        const int first = k + 1 + ahead;
        if (first < nt) {
#pragma omp task depend(in : c[k]) depend(inout : c[first]) depend(inout : c[nt - 1]) \
    firstprivate(k, first, trailing, trace)
            {
                Timed timed(trace->trailing);
                trailing(k, first);
            }
        }
    }
#pragma omp taskwait
}
