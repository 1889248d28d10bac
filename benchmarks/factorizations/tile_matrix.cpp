// The tiles' memory and locks. Tiles lie one after the other, each in a block of nb x nb numbers.
#include "tile_matrix.hpp"

#include <algorithm>

TileMatrix::TileMatrix(int rows, int cols, int nb)
    : rows_(rows), cols_(cols), nb_(nb), mt_((rows + nb - 1) / nb), nt_((cols + nb - 1) / nb),
      numbers_(static_cast<std::size_t>(mt_) * nt_ * nb * nb), states_(static_cast<std::size_t>(mt_) * nt_)
{
    for (State &state : states_)
        omp_init_nest_lock(&state.lock);
}

TileMatrix::~TileMatrix()
{
    for (State &state : states_)
        omp_destroy_nest_lock(&state.lock);
}

Tile TileMatrix::tile(int i, int j) const
{
    const std::size_t block = static_cast<std::size_t>(nb_) * nb_;
    double *data = const_cast<double *>(numbers_.data()) + index(i, j) * block;
    return {data, tile_rows(i), tile_cols(j), nb_};
}

Tile TileMatrix::get(int i, int j, bool to_write)
{
    State &state = states_[index(i, j)];
    omp_set_nest_lock(&state.lock);
    long &uses = to_write ? state.writes : state.reads;
    ++uses;
    omp_unset_nest_lock(&state.lock);
    return tile(i, j);
}

void TileMatrix::load(const std::vector<double> &dense)
{
    for (int j = 0; j < cols_; ++j) {
        for (int i = 0; i < mt_; ++i) {
            const double *from =
                dense.data() + static_cast<std::size_t>(j) * rows_ + static_cast<std::size_t>(i) * nb_;
            std::copy_n(from, tile_rows(i), tile(i, j / nb_).at(0, j % nb_));
        }
    }
}

std::vector<double> TileMatrix::dense() const
{
    std::vector<double> all(static_cast<std::size_t>(rows_) * cols_);
    for (int j = 0; j < cols_; ++j) {
        for (int i = 0; i < mt_; ++i) {
            double *to = all.data() + static_cast<std::size_t>(j) * rows_ + static_cast<std::size_t>(i) * nb_;
            std::copy_n(tile(i, j / nb_).at(0, j % nb_), tile_rows(i), to);
        }
    }
    return all;
}
