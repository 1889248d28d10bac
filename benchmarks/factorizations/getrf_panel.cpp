// The panel of LU: several threads of a nested region on one block column, tiles dealt round robin.
//
// Barriers: two per column (all have searched; the pivot row is in place) and one per stripe that has columns
// to its right (the stripe's rows of U are solved). Thread 0 has the diagonal tile.
//
// When ranks share the block column, each works on its own tiles, thread 0 speaks for it between barriers,
// and rows of U that others made go where the diagonal tile would be.
#include "blas.hpp"
#include "routines.hpp"
#include "swap_rows.hpp"

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
    /// `pivots` has an element for every column of the panel.
    Panel(TileMatrix &a, int k, std::vector<Pivot> &pivots, Context context)
        : a_(a), grid_(context.grid), k_(k), diagonal_(a.write(k, k)), pivots_(pivots),
          ib_(context.options.ib), barrier_(context.options.barrier),
          candidates_(context.options.panel_threads)
    {
        for (int i = k; i < a.mt(); ++i)
            if (grid_.mine(i, k))
                mine_.push_back({i - k, a.write(i, k)});
    }

    /// What thread `rank` of `size` does.
    void factor(int rank, int size)
    {
        const int width = diagonal_.cols;
        for (int s = 0; s < width; s += ib_) {
            const int end = std::min(s + ib_, width);
            for (int j = s; j < end; ++j)
                factor_column(j, end, rank, size);
            if (end < width)
                update_right(s, end, rank, size);
        }
    }

    int tiles() const
    {
        return static_cast<int>(mine_.size());
    }
    long barriers() const
    {
        return barrier_.rounds();
    }

  private:
    /// A tile of this rank: how far it is below the diagonal tile, and its numbers.
    struct Part {
        int below;
        Tile tile;
    };

    /// The first row of that tile that rows from `row` of the diagonal tile downwards include.
    static int from(const Part &part, int row)
    {
        return part.below == 0 ? row : 0;
    }

    void factor_column(int j, int end, int rank, int size)
    {
        candidates_[rank] = search(j, rank, size);
        barrier_.wait(rank, size);
        if (rank == 0)
            exchange(j, end, size);
        barrier_.wait(rank, size);
        eliminate(j, end, rank, size);
    }

    Candidate search(int j, int rank, int size) const
    {
        Candidate best{-1.0, {0, j}};
        for (int t = rank; t < tiles(); t += size) {
            const Tile &tile = mine_[t].tile;
            const int top = from(mine_[t], j);
            const int count = tile.rows - top;
            if (count <= 0)
                continue;
            const int row = top + blas::iamax(count, tile.at(top, j));
            const double value = std::fabs(*tile.at(row, j));
            if (value > best.size)
                best = {value, {mine_[t].below, row}};
        }
        return best;
    }

    /// Chooses among what all threads of all ranks found, and exchanges whole rows of the panel.
    void exchange(int j, int end, int size)
    {
        Candidate best = candidates_[0];
        for (int rank = 1; rank < size; ++rank)
            if (candidates_[rank].size > best.size)
                best = candidates_[rank];
        const int nb = a_.nb();
        const int where = grid_.column_max(best.size, best.where.tile * nb + best.where.row);
        pivots_[j] = {where / nb, where % nb};
        swap_rows(grid_, a_, k_, k_, j, pivots_[j]);
        share_rows(j, 1, j, end);
    }

    /// Rows [row, row + count) of the diagonal tile, columns [first, last), to the ranks of this column.
    void share_rows(int row, int count, int first, int last) const
    {
        if (grid_.p() == 1)
            return;
        std::vector<double> packed;
        for (int c = first; c < last; ++c)
            packed.insert(packed.end(), diagonal_.at(row, c), diagonal_.at(row, c) + count);
        grid_.column_broadcast(packed.data(), static_cast<int>(packed.size()), k_ % grid_.p());
        for (int c = first; c < last; ++c)
            std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(c - first) * count, count,
                        diagonal_.at(row, c));
    }

    /// Column j of L, and its outer product with row j in the rest of the stripe.
    void eliminate(int j, int end, int rank, int size) const
    {
        const double scale = 1.0 / *diagonal_.at(j, j);
        const double *row = diagonal_.at(j, j + 1);
        for (int t = rank; t < tiles(); t += size) {
            const Tile &tile = mine_[t].tile;
            const int top = from(mine_[t], j + 1);
            const int count = tile.rows - top;
            if (count <= 0)
                continue;
            blas::scal(count, scale, tile.at(top, j));
            if (j + 1 < end)
                blas::subtract_outer(count, end - j - 1, tile.at(top, j), row, diagonal_.ld,
                                     tile.at(top, j + 1), tile.ld);
        }
    }

    /// Updates the panel's columns from `end` on with the stripe that begins at column s.
    void update_right(int s, int end, int rank, int size)
    {
        const int columns = diagonal_.cols - end;
        const double *u = diagonal_.at(s, end);
        if (rank == 0) {
            if (grid_.mine(k_, k_))
                blas::trsm('L', 'L', 'N', 'U', end - s, columns, diagonal_.at(s, s), diagonal_.ld,
                           diagonal_.at(s, end), diagonal_.ld);
            share_rows(s, end - s, end, diagonal_.cols);
        }
        barrier_.wait(rank, size);
        for (int t = rank; t < tiles(); t += size) {
            const Tile &tile = mine_[t].tile;
            const int top = from(mine_[t], end);
            blas::gemm('N', 'N', tile.rows - top, columns, end - s, -1.0, tile.at(top, s), tile.ld, u,
                       diagonal_.ld, 1.0, tile.at(top, end), tile.ld);
        }
    }

    TileMatrix &a_;
    const Grid &grid_;
    int k_;
    Tile diagonal_;
    std::vector<Part> mine_;
    std::vector<Pivot> &pivots_;
    int ib_;
    PanelBarrier barrier_;
    std::vector<Candidate> candidates_;
};

} // namespace

void getrf_panel(TileMatrix &a, int k, std::vector<Pivot> &pivots, Context context)
{
    Panel panel(a, k, pivots, context);
    const int threads = std::min(context.options.panel_threads, panel.tiles());
    if (threads <= 1) {
        panel.factor(0, 1);
    } else {
#pragma omp parallel num_threads(threads) shared(panel)
        panel.factor(omp_get_thread_num(), omp_get_num_threads());
    }
    context.trace.barriers += panel.barriers();
}
