// A square matrix cut into tiles, each a column-major block of its own.
//
// Every tile has a nest lock. A task takes it for a moment when it asks for the tile, as a library does that
// keeps track of where copies of a tile live. The lock does not guard the numbers: the task graph does.
#pragma once

#include <omp.h>

#include <cstddef>
#include <vector>

/// A view of one tile: `rows` x `cols` numbers, columns `ld` apart.
struct Tile {
    double *data;
    int rows;
    int cols;
    int ld;

    /// Address of element (r, c).
    double *at(int r, int c) const
    {
        return data + r + static_cast<std::size_t>(c) * ld;
    }
};

class TileMatrix {
  public:
    /// A matrix of order n in tiles of order nb (the last row and column of tiles may be smaller), all zero.
    TileMatrix(int n, int nb) : TileMatrix(n, n, nb) {}
    /// A matrix of `rows` x `cols` in tiles of order nb, all zero.
    TileMatrix(int rows, int cols, int nb);
    ~TileMatrix();
    TileMatrix(const TileMatrix &) = delete;
    TileMatrix &operator=(const TileMatrix &) = delete;

    int rows() const
    {
        return rows_;
    }
    int cols() const
    {
        return cols_;
    }
    int nb() const
    {
        return nb_;
    }
    /// Rows of tiles.
    int mt() const
    {
        return mt_;
    }
    /// Columns of tiles.
    int nt() const
    {
        return nt_;
    }
    int tile_rows(int i) const
    {
        return i + 1 < mt_ ? nb_ : rows_ - i * nb_;
    }
    int tile_cols(int j) const
    {
        return j + 1 < nt_ ? nb_ : cols_ - j * nb_;
    }

    /// The tile, without a word to its lock. For code that has the matrix to itself.
    Tile tile(int i, int j) const;
    /// The tile, for a task that reads it.
    Tile read(int i, int j)
    {
        return get(i, j, false);
    }
    /// The tile, for a task that changes it.
    Tile write(int i, int j)
    {
        return get(i, j, true);
    }

    /// Copies from and to a column-major array with columns `rows()` apart.
    void load(const std::vector<double> &dense);
    std::vector<double> dense() const;

  private:
    /// What the lock of a tile guards.
    struct State {
        omp_nest_lock_t lock;
        long reads = 0;
        long writes = 0;
    };
    std::size_t index(int i, int j) const
    {
        return static_cast<std::size_t>(j) * mt_ + i;
    }
    Tile get(int i, int j, bool to_write);

    int rows_, cols_, nb_, mt_, nt_;
    std::vector<double> numbers_;
    std::vector<State> states_;
};
