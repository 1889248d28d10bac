// Ranks by MPI. Tiles travel by blocking point-to-point messages, because several tasks broadcast at the same
// time and collectives of one communicator must not overlap. Panels follow one another, so they use
// collectives.
#include "grid.hpp"

#define OMPI_SKIP_MPICXX // the C interface is enough
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

MPI_Comm column_communicator = MPI_COMM_NULL;

/// MPI allows tags up to 32767 everywhere: seven topics, and a tile's place modulo 64 in both directions.
/// Messages that are under way between two ranks at the same time are of block columns that are near each
/// other.
int tag(Topic topic, int i, int j)
{
    return (static_cast<int>(topic) * 64 + i % 64) * 64 + j % 64;
}

} // namespace

void Grid::start(int *argc, char ***argv)
{
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        std::fprintf(stderr, "factorize: this MPI cannot be called by several threads at once\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

void Grid::finish()
{
    if (column_communicator != MPI_COMM_NULL)
        MPI_Comm_free(&column_communicator);
    MPI_Finalize();
}

Grid::Grid(int p, int q) : p_(p), q_(q), rank_(0)
{
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != p * q) {
        if (rank_ == 0)
            std::fprintf(stderr, "factorize: %d ranks do not make a grid of %d x %d\n", size, p, q);
        MPI_Finalize();
        std::exit(2);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank_ / p_, rank_ % p_, &column_communicator);
}

std::vector<int> Grid::row(int i) const
{
    std::vector<int> ranks;
    for (int column = 0; column < q_; ++column)
        ranks.push_back(i % p_ + column * p_);
    return ranks;
}

std::vector<int> Grid::column(int j) const
{
    std::vector<int> ranks;
    for (int row = 0; row < p_; ++row)
        ranks.push_back(row + j % q_ * p_);
    return ranks;
}

void Grid::broadcast(TileMatrix &a, int i, int j, Topic topic, const std::vector<int> &to) const
{
    const int root = owner(i, j);
    if (rank_ != root && std::find(to.begin(), to.end(), rank_) == to.end())
        return;
    const Tile tile = rank_ == root ? a.read(i, j) : a.write(i, j);
    const int count = tile.ld * tile.cols;
    if (rank_ != root) {
        MPI_Recv(tile.data, count, MPI_DOUBLE, root, tag(topic, i, j), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int other : to)
        if (other != root)
            MPI_Send(tile.data, count, MPI_DOUBLE, other, tag(topic, i, j), MPI_COMM_WORLD);
}

void Grid::move(TileMatrix &a, int i, int j, int from, int to, Topic topic) const
{
    if (from == to || (rank_ != from && rank_ != to))
        return;
    const Tile tile = rank_ == from ? a.read(i, j) : a.write(i, j);
    const int count = tile.ld * tile.cols;
    if (rank_ == from)
        MPI_Send(tile.data, count, MPI_DOUBLE, to, tag(topic, i, j), MPI_COMM_WORLD);
    else
        MPI_Recv(tile.data, count, MPI_DOUBLE, from, tag(topic, i, j), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void Grid::broadcast(void *data, int bytes, int root, int j, Topic topic) const
{
    const int number = tag(topic, 0, j);
    if (rank_ != root) {
        MPI_Recv(data, bytes, MPI_BYTE, root, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int other = 0; other < ranks(); ++other)
        if (other != root)
            MPI_Send(data, bytes, MPI_BYTE, other, number, MPI_COMM_WORLD);
}

void Grid::exchange(double *numbers, int count, int other, int j, Topic topic) const
{
    const int number = tag(topic, 0, j);
    MPI_Sendrecv_replace(numbers, count, MPI_DOUBLE, other, number, other, number, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
}

int Grid::column_max(double value, int where) const
{
    struct {
        double value;
        int where;
    } best{value, where};
    MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, column_communicator);
    return best.where;
}

void Grid::column_broadcast(double *numbers, int count, int root_row) const
{
    MPI_Bcast(numbers, count, MPI_DOUBLE, root_row, column_communicator);
}

void Grid::gather(TileMatrix &a) const
{
    for (int j = 0; j < a.nt(); ++j)
        for (int i = 0; i < a.mt(); ++i)
            broadcast(a, i, j, Topic::gather, {0});
}

void Grid::barrier() const
{
    MPI_Barrier(MPI_COMM_WORLD);
}
