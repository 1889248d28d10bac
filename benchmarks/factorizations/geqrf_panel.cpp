// The panel of QR: several threads of a nested region on a rank's tiles of one block column, dealt round
// robin.
//
// Barriers: five per column and four per stripe. Thread 0 has the topmost tile (the diagonal tile, where
// one rank has all), sums what the others computed, and
// builds T. T of the whole panel is upper triangular; it grows by a column with every reflector inside a
// stripe, and by a block of columns at the end of a stripe. What is said of the diagonal tile below holds for
// the topmost.
#include "blas.hpp"
#include "geqrf_tree.hpp"
#include "routines.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace {

class Panel {
  public:
    /// The caller has at least one tile of the block column.
    Panel(TileMatrix &a, TileMatrix &t, int k, const Grid &grid, const Options &options)
        : t_(t.write(local_t(grid, grid.first_row(k)), k)), ib_(options.ib), barrier_(options.barrier)
    {
        for (int i = grid.first_row(k); i < a.mt(); i += grid.p())
            tiles_.push_back(a.write(i, k));
        width_ = tiles_[0].cols;
        threads_ = std::min(options.panel_threads, static_cast<int>(tiles_.size()));
        sums_.resize(threads_);
        // A line of the cache between what two threads write.
        stride_ = static_cast<std::size_t>(ib_) * width_ + 8;
        products_.resize(stride_ * threads_);
        std::fill_n(t_.data, static_cast<std::size_t>(t_.ld) * width_, 0.0);
    }

    /// What thread `rank` of `size` does.
    void factor(int rank, int size)
    {
        for (int s = 0; s < width_; s += ib_) {
            const int end = std::min(s + ib_, width_);
            for (int j = s; j < end; ++j)
                factor_column(s, j, end, rank, size);
            finish_stripe(s, end, rank, size);
        }
    }

    int threads() const
    {
        return threads_;
    }
    long barriers() const
    {
        return barrier_.rounds();
    }

  private:
    struct alignas(64) Sum {
        double value;
    };

    int tiles() const
    {
        return static_cast<int>(tiles_.size());
    }
    /// The first row of tile t that rows from `row` of the diagonal tile downwards include.
    static int from(int t, int row)
    {
        return t == 0 ? row : 0;
    }
    double *product(int rank)
    {
        return products_.data() + rank * stride_;
    }

    /// Makes reflector j and applies it to the stripe [s, end).
    void factor_column(int s, int j, int end, int rank, int size)
    {
        sums_[rank].value = sum_of_squares(j, rank, size);
        barrier_.wait(rank, size);
        if (rank == 0)
            make_reflector(j, size);
        barrier_.wait(rank, size);
        scale_and_multiply(s, j, end, rank, size);
        barrier_.wait(rank, size);
        if (rank == 0)
            grow_t_by_column(s, j, end, size);
        barrier_.wait(rank, size);
        apply_reflector(s, j, end, rank, size);
        barrier_.wait(rank, size);
    }

    /// Of the column's numbers below the diagonal, in the thread's tiles.
    double sum_of_squares(int j, int rank, int size) const
    {
        double sum = 0.0;
        for (int t = rank; t < tiles(); t += size) {
            const int top = from(t, j + 1);
            sum += blas::sum_of_squares(tiles_[t].rows - top, tiles_[t].at(top, j));
        }
        return sum;
    }

    /// tau, and the factor that the column is to be scaled with; the diagonal becomes that of R. As LAPACK's
    /// larfg, but for numbers whose squares can be formed.
    void make_reflector(int j, int size)
    {
        double sum = 0.0;
        for (int rank = 0; rank < size; ++rank)
            sum += sums_[rank].value;
        double &diagonal = *tiles_[0].at(j, j);
        tau_ = 0.0;
        scale_ = 0.0;
        if (sum != 0.0) {
            const double beta = -std::copysign(std::sqrt(diagonal * diagonal + sum), diagonal);
            tau_ = (beta - diagonal) / beta;
            scale_ = 1.0 / (diagonal - beta);
            diagonal = beta;
        }
    }

    /// The reflector v, and v^T times all columns of the stripe: to the left for T, to the right for the
    /// update.
    void scale_and_multiply(int s, int j, int end, int rank, int size)
    {
        double *sums = product(rank);
        std::fill_n(sums, end - s, 0.0);
        for (int t = rank; t < tiles(); t += size) {
            const Tile &tile = tiles_[t];
            const int top = from(t, j + 1);
            const int count = tile.rows - top;
            blas::scal(count, scale_, tile.at(top, j));
            blas::gemv_trans(count, end - s, tile.at(top, s), tile.ld, tile.at(top, j), sums);
            if (t == 0)
                for (int c = s; c < end; ++c)
                    sums[c - s] += *tile.at(j, c);
        }
    }

    /// Adds up the products in the place of thread 0, and computes T(s:j, j) = -tau T(s:j-1, s:j-1) V^T v.
    void grow_t_by_column(int s, int j, int end, int size)
    {
        double *sums = product(0);
        for (int rank = 1; rank < size; ++rank)
            for (int c = 0; c < end - s; ++c)
                sums[c] += product(rank)[c];
        for (int c = 0; c < end - s; ++c)
            sums[c] *= tau_;
        for (int c = s; c < j; ++c)
            *t_.at(c, j) = -sums[c - s];
        blas::trmv_upper(j - s, t_.at(s, s), t_.ld, t_.at(s, j));
        *t_.at(j, j) = tau_;
    }

    /// A -= v (tau v^T A) in the columns of the stripe right of j.
    void apply_reflector(int s, int j, int end, int rank, int size)
    {
        const double *sums = product(0) + (j + 1 - s);
        const int columns = end - j - 1;
        for (int t = rank; t < tiles(); t += size) {
            const Tile &tile = tiles_[t];
            const int top = from(t, j + 1);
            blas::subtract_outer(tile.rows - top, columns, tile.at(top, j), sums, 1, tile.at(top, j + 1),
                                 tile.ld);
            if (t == 0)
                for (int c = 0; c < columns; ++c)
                    *tile.at(j, j + 1 + c) -= sums[c];
        }
    }

    /// Applies the stripe's reflectors to the columns right of it, and extends T by them.
    void finish_stripe(int s, int end, int rank, int size)
    {
        barrier_.wait(rank, size);
        multiply_stripe(s, end, 0, s, rank, size);
        multiply_stripe(s, end, end, width_, rank, size);
        barrier_.wait(rank, size);
        if (rank == 0)
            grow_t_by_stripe(s, end, size);
        barrier_.wait(rank, size);
        update_right(s, end, rank, size);
        barrier_.wait(rank, size);
    }

    /// The thread's share of V^T A for the stripe's V and columns [first, last) of the panel. Left of the
    /// stripe these columns are earlier reflectors, which are plain numbers in the rows where V is not zero.
    void multiply_stripe(int s, int end, int first, int last, int rank, int size)
    {
        const int kb = end - s, columns = last - first;
        if (columns == 0)
            return;
        double *w = product(rank) + static_cast<std::size_t>(first) * kb;
        std::fill_n(w, static_cast<std::size_t>(kb) * columns, 0.0);
        for (int t = rank; t < tiles(); t += size) {
            const Tile &tile = tiles_[t];
            const int top = from(t, end);
            if (t == 0) {
                for (int c = 0; c < columns; ++c)
                    std::copy_n(tile.at(s, first + c), kb, w + static_cast<std::size_t>(c) * kb);
                blas::trmm('L', 'L', 'T', 'U', kb, columns, 1.0, tile.at(s, s), tile.ld, w, kb);
            }
            blas::gemm('T', 'N', kb, columns, tile.rows - top, 1.0, tile.at(top, s), tile.ld,
                       tile.at(top, first), tile.ld, 1.0, w, kb);
        }
    }

    /// Adds up V^T A; left part: T(0:s, s:end) = -T(0:s, 0:s) (V^T V_left)^T T(s:end, s:end); right part:
    /// times T^T.
    void grow_t_by_stripe(int s, int end, int size)
    {
        const int kb = end - s;
        double *w = product(0);
        for (int rank = 1; rank < size; ++rank) {
            const double *other = product(rank);
            for (int c = 0; c < width_; ++c)
                if (c < s || c >= end)
                    for (int r = 0; r < kb; ++r)
                        w[c * kb + r] += other[c * kb + r];
        }
        for (int c = 0; c < s; ++c)
            for (int r = 0; r < kb; ++r)
                *t_.at(c, s + r) = -w[c * kb + r];
        blas::trmm('L', 'U', 'N', 'N', s, kb, 1.0, t_.data, t_.ld, t_.at(0, s), t_.ld);
        blas::trmm('R', 'U', 'N', 'N', s, kb, 1.0, t_.at(s, s), t_.ld, t_.at(0, s), t_.ld);
        blas::trmm('L', 'U', 'T', 'N', kb, width_ - end, 1.0, t_.at(s, s), t_.ld,
                   w + static_cast<std::size_t>(end) * kb, kb);
    }

    /// A -= V W in the columns right of the stripe.
    void update_right(int s, int end, int rank, int size)
    {
        const int kb = end - s, columns = width_ - end;
        const double *w = product(0) + static_cast<std::size_t>(end) * kb;
        for (int t = rank; t < tiles(); t += size) {
            const Tile &tile = tiles_[t];
            const int top = from(t, end);
            blas::gemm('N', 'N', tile.rows - top, columns, kb, -1.0, tile.at(top, s), tile.ld, w, kb, 1.0,
                       tile.at(top, end), tile.ld);
            if (t == 0)
                update_top(s, end, w);
        }
    }

    /// The rows of the stripe's own triangle.
    void update_top(int s, int end, const double *w)
    {
        const int kb = end - s, columns = width_ - end;
        const Tile &tile = tiles_[0];
        std::vector<double> part(w, w + static_cast<std::size_t>(kb) * columns);
        blas::trmm('L', 'L', 'N', 'U', kb, columns, 1.0, tile.at(s, s), tile.ld, part.data(), kb);
        for (int c = 0; c < columns; ++c)
            for (int r = 0; r < kb; ++r)
                *tile.at(s + r, end + c) -= part[static_cast<std::size_t>(c) * kb + r];
    }

    std::vector<Tile> tiles_;
    Tile t_;
    int width_, ib_, threads_;
    PanelBarrier barrier_;
    std::vector<Sum> sums_;
    std::vector<double> products_;
    std::size_t stride_;
    double tau_ = 0.0, scale_ = 0.0;
};

} // namespace

void geqrf_panel(TileMatrix &a, TileMatrix &t, int k, Context context)
{
    if (context.grid.first_row(k) >= a.mt())
        return;
    Panel panel(a, t, k, context.grid, context.options);
    const int threads = panel.threads();
    if (threads == 1) {
        panel.factor(0, 1);
    } else {
#pragma omp parallel num_threads(threads) shared(panel)
        panel.factor(omp_get_thread_num(), omp_get_num_threads());
    }
    context.trace.barriers += panel.barriers();
}
