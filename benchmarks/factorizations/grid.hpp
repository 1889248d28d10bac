// The ranks that share a matrix, and what they say to each other.
//
// Tile (i, j) belongs to the rank in row i mod p and column j mod q of a p x q grid. Every rank has room for
// all tiles; those of others are where received copies go. Two implementations: grid_single.cpp for one
// process, without MPI, and grid_mpi.cpp.
//
// Calls block, and several tasks of a rank may be in one at the same time: messages are told apart by tags.
// Tasks on all ranks must make the calls of one outer task in the same order.
#pragma once

#include "tile_matrix.hpp"

#include <vector>

/// What a message is about; with the tile's place it makes a tag that no other message under way has.
enum class Topic { panel, upper, rows, pivots, join, join_update, gather };

class Grid {
  public:
    /// Starts MPI where there is any. To be called once, before any region.
    static void start(int *argc, char ***argv);
    /// Ends MPI.
    static void finish();

    /// p x q ranks; exits with a message if that is not how many there are.
    Grid(int p, int q);

    /// Rows of ranks: among so many a column of tiles is shared.
    int p() const
    {
        return p_;
    }
    int ranks() const
    {
        return p_ * q_;
    }
    int rank() const
    {
        return rank_;
    }
    int owner(int i, int j) const
    {
        return i % p_ + j % q_ * p_;
    }
    bool mine(int i, int j) const
    {
        return owner(i, j) == rank_;
    }
    /// Whether the caller has tiles of column j.
    bool in_column(int j) const
    {
        return rank_ / p_ == j % q_;
    }
    /// The first row of tiles from k on that the caller has tiles of, whether the matrix goes that far or
    /// not.
    int first_row(int k) const
    {
        return k + (rank_ % p_ - k % p_ + p_) % p_;
    }
    /// The ranks that have tiles of row i, of column j.
    std::vector<int> row(int i) const;
    std::vector<int> column(int j) const;

    /// Sends tile (i, j) from its owner to all of `to`; the others among them receive it in their place for
    /// it.
    void broadcast(TileMatrix &a, int i, int j, Topic topic, const std::vector<int> &to) const;
    /// Copies tile (i, j), or what a rank has in the place for it, from one rank to another.
    void move(TileMatrix &a, int i, int j, int from, int to, Topic topic) const;
    /// Sends `bytes` bytes from rank `root` to all ranks, in the name of block column j.
    void broadcast(void *data, int bytes, int root, int j, Topic topic) const;
    /// Exchanges `count` numbers with another rank. The tag is of block column j, so that columns do not get
    /// mixed up.
    void exchange(double *numbers, int count, int other, int j, Topic topic) const;

    /// For panels, of which there is one at a time: the largest `value` among the ranks of the caller's
    /// column, and the `where` (the smallest) that came with it. Every rank of the column must call it.
    int column_max(double value, int where) const;
    /// For panels: `count` numbers from the rank in row `root_row` of the grid to its column.
    void column_broadcast(double *numbers, int count, int root_row) const;

    /// All tiles to rank 0.
    void gather(TileMatrix &a) const;
    /// Returns when all ranks have called it.
    void barrier() const;

  private:
    int p_, q_, rank_;
};
