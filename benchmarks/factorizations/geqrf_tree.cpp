// A join is computed where the bottom tile is; the top tile travels there and back. Messages block, and all
// ranks go through joins and columns in the same order.
//
// All tiles are of order nb here (main.cpp sees to it).
#include "geqrf_tree.hpp"

#include "blas.hpp"

#include <algorithm>
#include <cmath>

namespace {

/// A copy of a tile, columns `rows` apart.
std::vector<double> copy_of(const Tile &tile)
{
    std::vector<double> numbers;
    for (int c = 0; c < tile.cols; ++c)
        numbers.insert(numbers.end(), tile.at(0, c), tile.at(0, c) + tile.rows);
    return numbers;
}

void subtract(const std::vector<double> &numbers, const Tile &tile)
{
    for (int c = 0; c < tile.cols; ++c)
        for (int r = 0; r < tile.rows; ++r)
            *tile.at(r, c) -= numbers[static_cast<std::size_t>(c) * tile.rows + r];
}

/// QR of two upper triangles on top of each other (LAPACK's tpqrt with L = n, one column at a time): R in
/// `top`, the vectors V in the upper triangle of `bottom`, and T with Q = I - [I; V] T [I; V]^T.
void join_triangles(const Tile &top, const Tile &bottom, const Tile &t)
{
    const int n = top.cols;
    std::vector<double> row(n);
    std::fill_n(t.data, static_cast<std::size_t>(t.ld) * n, 0.0);
    for (int j = 0; j < n; ++j) {
        double *v = bottom.at(0, j);
        double &diagonal = *top.at(j, j);
        const double sum = blas::sum_of_squares(j + 1, v);
        double tau = 0.0;
        if (sum != 0.0) {
            const double beta = -std::copysign(std::sqrt(diagonal * diagonal + sum), diagonal);
            tau = (beta - diagonal) / beta;
            blas::scal(j + 1, 1.0 / (diagonal - beta), v);
            diagonal = beta;
        }
        const int right = n - j - 1;
        for (int c = 0; c < right; ++c)
            row[c] = *top.at(j, j + 1 + c);
        blas::gemv_trans(j + 1, right, bottom.at(0, j + 1), bottom.ld, v, row.data());
        blas::scal(right, tau, row.data());
        for (int c = 0; c < right; ++c)
            *top.at(j, j + 1 + c) -= row[c];
        blas::subtract_outer(j + 1, right, v, row.data(), 1, bottom.at(0, j + 1), bottom.ld);
        for (int c = 0; c < j; ++c) { // -tau V^T v, of which column c of V has c + 1 numbers
            double product = 0.0;
            for (int r = 0; r <= c; ++r)
                product += *bottom.at(r, c) * v[r];
            *t.at(c, j) = -tau * product;
        }
        blas::trmv_upper(j, t.data, t.ld, t.at(0, j));
        *t.at(j, j) = tau;
    }
}

/// [top; bottom] = Q^T [top; bottom] for the Q of a join.
void apply_join(const Tile &v, const Tile &t, const Tile &top, const Tile &bottom)
{
    std::vector<double> w = copy_of(bottom);
    blas::trmm('L', 'U', 'T', 'N', bottom.rows, bottom.cols, 1.0, v.data, v.ld, w.data(), bottom.rows);
    for (int c = 0; c < top.cols; ++c)
        for (int r = 0; r < top.rows; ++r)
            w[static_cast<std::size_t>(c) * top.rows + r] += *top.at(r, c);
    blas::trmm('L', 'U', 'T', 'N', top.rows, top.cols, 1.0, t.data, t.ld, w.data(), top.rows);
    subtract(w, top);
    blas::trmm('L', 'U', 'N', 'N', top.rows, top.cols, 1.0, v.data, v.ld, w.data(), top.rows);
    subtract(w, bottom);
}

} // namespace

std::vector<Join> joins(int k, int mt, int p)
{
    std::vector<Join> all;
    const int count = std::min(p, mt - k);
    for (int step = 1; step < count; step *= 2)
        for (int i = 0; i + step < count; i += 2 * step)
            all.push_back({k + i, k + i + step});
    return all;
}

void join_panel(TileMatrix &a, TileMatrix &t, const Grid &grid, int k)
{
    for (const Join &join : joins(k, a.mt(), grid.p())) {
        const int upper = grid.owner(join.top, k), lower = grid.owner(join.bottom, k);
        grid.move(a, join.top, k, upper, lower, Topic::join);
        if (grid.rank() == lower)
            join_triangles(a.write(join.top, k), a.write(join.bottom, k),
                           t.write(join_t(grid, join.bottom), k));
        grid.move(a, join.top, k, lower, upper, Topic::join);
    }
}

void apply_joins(TileMatrix &a, TileMatrix &t, const Grid &grid, int k, int first, int end)
{
    for (const Join &join : joins(k, a.mt(), grid.p())) {
        for (int j = first; j < end; ++j) {
            const int upper = grid.owner(join.top, j), lower = grid.owner(join.bottom, j);
            grid.move(a, join.top, j, upper, lower, Topic::join_update);
            if (grid.rank() == lower)
                apply_join(a.read(join.bottom, k), t.read(join_t(grid, join.bottom), k), a.write(join.top, j),
                           a.write(join.bottom, j));
            grid.move(a, join.top, j, lower, upper, Topic::join_update);
        }
    }
}
