// Exchanging rows of a block column, as the pivots of LU ask for.
#pragma once

#include "grid.hpp"
#include "routines.hpp"

/// Exchanges row `row` of tile (k, j) with row `pivot.row` of tile (k + pivot.tile, j), all columns of the
/// tile. The two may belong to two ranks: then both must call it. Ranks that have neither return at once.
void swap_rows(const Grid &grid, const TileMatrix &a, int k, int j, int row, Pivot pivot);
