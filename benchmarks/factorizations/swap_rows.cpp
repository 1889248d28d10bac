// One row after the other. A library would pack all rows that go to a rank into one message.
#include "swap_rows.hpp"

#include "blas.hpp"

namespace {

/// Exchanges a row of a tile with a row that another rank passes at the same time.
void swap_with(const Grid &grid, const Tile &tile, int row, int other, int j)
{
    std::vector<double> numbers(tile.cols);
    for (int c = 0; c < tile.cols; ++c)
        numbers[c] = *tile.at(row, c);
    grid.exchange(numbers.data(), tile.cols, other, j, Topic::rows);
    for (int c = 0; c < tile.cols; ++c)
        *tile.at(row, c) = numbers[c];
}

} // namespace

void swap_rows(const Grid &grid, const TileMatrix &a, int k, int j, int row, Pivot pivot)
{
    const Tile top = a.tile(k, j), below = a.tile(k + pivot.tile, j);
    const int top_owner = grid.owner(k, j), below_owner = grid.owner(k + pivot.tile, j);
    if (top_owner == below_owner) {
        if (top_owner == grid.rank())
            blas::swap(top.cols, top.at(row, 0), top.ld, below.at(pivot.row, 0), below.ld);
    } else if (top_owner == grid.rank()) {
        swap_with(grid, top, row, below_owner, j);
    } else if (below_owner == grid.rank()) {
        swap_with(grid, below, pivot.row, top_owner, j);
    }
}
