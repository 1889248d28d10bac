// The panel of LU: several threads of a nested region on one block column, tiles dealt round robin.
//
// Barriers: two per column (all have searched; the pivot row is in place) and one per stripe that has columns to its right
// (the stripe's rows of U are solved). Thread 0 has the diagonal tile.
#include "blas.hpp"
#include "routines.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace {

/// What a thread found in its tiles: the largest number of a column and where it stands.
struct alignas(64) Candidate {
    double size;
    Pivot where;
};

class Panel {
public:
    Panel(TileMatrix& a, int k, std::vector<Pivot>& pivots, const Options& options)
        : pivots_(pivots), ib_(options.ib), barrier_(options.barrier), candidates_(options.panel_threads)
    {
        for (int i = k; i < a.mt(); ++i)
            tiles_.push_back(a.write(i, k));
        pivots_.resize(tiles_[0].cols);
    }

    /// What thread `rank` of `size` does.
    void factor(int rank, int size)
    {
        const int width = tiles_[0].cols;
        for (int s = 0; s < width; s += ib_) {
            const int end = std::min(s + ib_, width);
            for (int j = s; j < end; ++j)
                factor_column(j, end, rank, size);
            if (end < width)
                update_right(s, end, rank, size);
        }
    }

    int tiles() const { return static_cast<int>(tiles_.size()); }
    long barriers() const { return barrier_.rounds(); }

private:
    /// The first row of tile t that rows from `row` of the diagonal tile downwards include.
    static int from(int t, int row) { return t == 0 ? row : 0; }

    void factor_column(int j, int end, int rank, int size)
    {
        candidates_[rank] = search(j, rank, size);
        barrier_.wait(rank, size);
        if (rank == 0)
            exchange(j, size);
        barrier_.wait(rank, size);
        eliminate(j, end, rank, size);
    }

    Candidate search(int j, int rank, int size) const
    {
        Candidate best{-1.0, {0, j}};
        for (int t = rank; t < tiles(); t += size) {
            const int top = from(t, j);
            const int count = tiles_[t].rows - top;
            if (count <= 0)
                continue;
            const int row = top + blas::iamax(count, tiles_[t].at(top, j));
            const double value = std::fabs(*tiles_[t].at(row, j));
            if (value > best.size)
                best = {value, {t, row}};
        }
        return best;
    }

    /// Chooses among what all threads found, and exchanges whole rows of the panel.
    void exchange(int j, int size)
    {
        Candidate best = candidates_[0];
        for (int rank = 1; rank < size; ++rank)
            if (candidates_[rank].size > best.size)
                best = candidates_[rank];
        pivots_[j] = best.where;
        const Tile& top = tiles_[0];
        const Tile& other = tiles_[best.where.tile];
        blas::swap(top.cols, top.at(j, 0), top.ld, other.at(best.where.row, 0), other.ld);
    }

    /// Column j of L, and its outer product with row j in the rest of the stripe.
    void eliminate(int j, int end, int rank, int size) const
    {
        const double scale = 1.0 / *tiles_[0].at(j, j);
        const double* row = tiles_[0].at(j, j + 1);
        for (int t = rank; t < tiles(); t += size) {
            const Tile& tile = tiles_[t];
            const int top = from(t, j + 1);
            const int count = tile.rows - top;
            if (count <= 0)
                continue;
            blas::scal(count, scale, tile.at(top, j));
            if (j + 1 < end)
                blas::subtract_outer(count, end - j - 1, tile.at(top, j), row, tiles_[0].ld, tile.at(top, j + 1),
                                     tile.ld);
        }
    }

    /// Updates the panel's columns from `end` on with the stripe that begins at column s.
    void update_right(int s, int end, int rank, int size)
    {
        const Tile& diagonal = tiles_[0];
        const int columns = diagonal.cols - end;
        const double* u = diagonal.at(s, end);
        if (rank == 0)
            blas::trsm('L', 'L', 'N', 'U', end - s, columns, diagonal.at(s, s), diagonal.ld, diagonal.at(s, end),
                       diagonal.ld);
        barrier_.wait(rank, size);
        for (int t = rank; t < tiles(); t += size) {
            const Tile& tile = tiles_[t];
            const int top = from(t, end);
            blas::gemm('N', 'N', tile.rows - top, columns, end - s, -1.0, tile.at(top, s), tile.ld, u, diagonal.ld, 1.0,
                       tile.at(top, end), tile.ld);
        }
    }

    std::vector<Tile> tiles_;
    std::vector<Pivot>& pivots_;
    int ib_;
    PanelBarrier barrier_;
    std::vector<Candidate> candidates_;
};

} // namespace

void getrf_panel(TileMatrix& a, int k, std::vector<Pivot>& pivots, Context context)
{
    Panel panel(a, k, pivots, context.options);
    const int threads = std::min(context.options.panel_threads, panel.tiles());
    if (threads == 1) {
        panel.factor(0, 1);
    } else {
#pragma omp parallel num_threads(threads) shared(panel)
        panel.factor(omp_get_thread_num(), omp_get_num_threads());
    }
    context.trace.barriers += panel.barriers();
}
