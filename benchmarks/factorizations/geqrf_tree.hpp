// QR when several ranks share a block column: every rank has factored its own tiles, and the triangles R that
// this left in the first tile of each are joined two by two in a binary tree.
#pragma once

#include "grid.hpp"
#include "tile_matrix.hpp"

#include <vector>

/// Two rows of tiles whose triangles are joined into that of `top`.
struct Join {
    int top;
    int bottom;
};

/// The joins of block column k, in the order in which they are made; none when a column of tiles has one
/// rank.
std::vector<Join> joins(int k, int mt, int p);

/// Where the T of tile rows `i`, i + p, ... is in the matrix of Ts, and where that of a join with bottom i.
inline int local_t(const Grid &grid, int i)
{
    return i % grid.p();
}
inline int join_t(const Grid &grid, int i)
{
    return grid.p() + i % grid.p();
}

/// Joins the triangles of block column k. The vectors replace the triangle of the bottom tile.
void join_panel(TileMatrix &a, TileMatrix &t, const Grid &grid, int k);

/// Applies the joins of block column k, transposed, to block columns `first` up to, not including, `end`.
void apply_joins(TileMatrix &a, TileMatrix &t, const Grid &grid, int k, int first, int end);
