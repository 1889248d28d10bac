// The residuals, from the factors as dense matrices and plain BLAS calls on one thread.
#include "check.hpp"

#include "blas.hpp"
#include "geqrf_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace {

using Dense = std::vector<double>;

std::size_t square(int n)
{
    return static_cast<std::size_t>(n) * n;
}

/// Largest sum of magnitudes of a column; not a number if there is one that is not.
double norm1(const Dense &a, int n)
{
    double largest = 0.0;
    for (int j = 0; j < n; ++j) {
        double sum = 0.0;
        for (int i = 0; i < n; ++i)
            sum += std::fabs(a[j * static_cast<std::size_t>(n) + i]);
        if (!(sum <= largest))
            largest = sum;
    }
    return largest;
}

/// ||A - B|| / (n scale eps), where B overwrites nothing and eps is the unit roundoff.
double relative_difference(const Dense &a, const Dense &b, int n, double scale)
{
    Dense difference(square(n));
    std::transform(a.begin(), a.end(), b.begin(), difference.begin(),
                   [](double x, double y) { return x - y; });
    const double eps = std::numeric_limits<double>::epsilon() / 2;
    return norm1(difference, n) / (n * scale * eps);
}

enum class Part { lower, unit_lower, upper };

/// One triangle of a matrix, zeros elsewhere.
Dense triangle(const Dense &a, int n, Part part)
{
    Dense result(square(n));
    for (int j = 0; j < n; ++j) {
        const int begin = part == Part::upper ? 0 : j;
        const int end = part == Part::upper ? j + 1 : n;
        const std::size_t column = j * static_cast<std::size_t>(n);
        std::copy(a.begin() + column + begin, a.begin() + column + end, result.begin() + column + begin);
        if (part == Part::unit_lower)
            result[column + j] = 1.0;
    }
    return result;
}

/// C = A op(B), all of order n.
Dense product(const Dense &a, char tb, const Dense &b, int n)
{
    Dense c(square(n));
    blas::gemm('N', tb, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
    return c;
}

/// C = (I - V T V^T) C for the reflectors of block column k in tile rows `first`, first + step, ...
void apply_reflectors(const Dense &vectors, const Tile &t, int k, int first, int step, Dense &c, int n)
{
    const int nb = t.ld, top = first * nb, rows = n - top, width = t.cols;
    Dense v(static_cast<std::size_t>(rows) * width), w(static_cast<std::size_t>(width) * n);
    for (int j = 0; j < width; ++j) {
        v[j * static_cast<std::size_t>(rows) + j] = 1.0;
        for (int i = j + 1; i < rows; ++i)
            if (i / nb % step == 0)
                v[j * static_cast<std::size_t>(rows) + i] =
                    vectors[(k * nb + j) * static_cast<std::size_t>(n) + top + i];
    }
    blas::gemm('T', 'N', width, n, rows, 1.0, v.data(), rows, c.data() + top, n, 0.0, w.data(), width);
    blas::trmm('L', 'U', 'N', 'N', width, n, 1.0, t.data, t.ld, w.data(), width);
    blas::gemm('N', 'N', rows, n, width, -1.0, v.data(), rows, w.data(), width, 1.0, c.data() + top, n);
}

/// [top; bottom] = Q [top; bottom] in rows of C, for the Q of a join in block column k.
void apply_join(const Dense &vectors, const Tile &t, int k, Join join, Dense &c, int n)
{
    const int nb = t.cols;
    const double *v = &vectors[static_cast<std::size_t>(k) * nb * n + join.bottom * nb];
    double *top = &c[join.top * nb], *bottom = &c[join.bottom * nb];
    Dense w(static_cast<std::size_t>(nb) * n);
    const auto each = [&](auto &&what) {
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < nb; ++i)
                what(w[j * static_cast<std::size_t>(nb) + i], j * static_cast<std::size_t>(n) + i);
    };
    each([&](double &x, std::size_t at) { x = bottom[at]; });
    blas::trmm('L', 'U', 'T', 'N', nb, n, 1.0, v, n, w.data(), nb);
    each([&](double &x, std::size_t at) { x += top[at]; });
    blas::trmm('L', 'U', 'N', 'N', nb, n, 1.0, t.data, t.ld, w.data(), nb);
    each([&](double &x, std::size_t at) { top[at] -= x; });
    blas::trmm('L', 'U', 'N', 'N', nb, n, 1.0, v, n, w.data(), nb);
    each([&](double &x, std::size_t at) { bottom[at] -= x; });
}

/// C = Q_k C for all that was done to block column k: first the joins, last one first, then every rank's own
/// part.
void apply_column(const Dense &vectors, const TileMatrix &t, int k, Dense &c, int n)
{
    const int p = t.mt() / 2, mt = t.nt();
    const std::vector<Join> all = joins(k, mt, p);
    for (auto join = all.rbegin(); join != all.rend(); ++join)
        apply_join(vectors, t.tile(p + join->bottom % p, k), k, *join, c, n);
    for (int first = k; first < std::min(k + p, mt); ++first)
        apply_reflectors(vectors, t.tile(first % p, k), k, first, p, c, n);
}

Dense identity(int n)
{
    Dense result(square(n));
    for (int j = 0; j < n; ++j)
        result[j * static_cast<std::size_t>(n) + j] = 1.0;
    return result;
}

} // namespace

std::vector<double> random_matrix(int n, std::uint64_t seed, bool positive_definite)
{
    Dense a(square(n));
    std::uint64_t state = seed;
    for (double &x : a) { // SplitMix64
        std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        x = static_cast<double>((z ^ (z >> 31)) >> 11) / static_cast<double>(1ULL << 53) - 0.5;
    }
    if (positive_definite) {
        for (int j = 0; j < n; ++j) {
            a[j * static_cast<std::size_t>(n) + j] += n;
            for (int i = j + 1; i < n; ++i)
                a[i * static_cast<std::size_t>(n) + j] = a[j * static_cast<std::size_t>(n) + i];
        }
    }
    return a;
}

double potrf_residual(const Dense &original, const TileMatrix &factored)
{
    const int n = factored.cols();
    const Dense l = triangle(factored.dense(), n, Part::lower);
    return relative_difference(original, product(l, 'T', l, n), n, norm1(original, n));
}

double getrf_residual(const Dense &original, const TileMatrix &factored, const Pivots &pivots)
{
    const int n = factored.cols(), nb = factored.nb();
    const Dense all = factored.dense();
    const Dense lu = product(triangle(all, n, Part::unit_lower), 'N', triangle(all, n, Part::upper), n);
    Dense permuted = original;
    for (int k = 0; k < static_cast<int>(pivots.size()); ++k) {
        for (int r = 0; r < static_cast<int>(pivots[k].size()); ++r) {
            const int other = (k + pivots[k][r].tile) * nb + pivots[k][r].row;
            blas::swap(n, &permuted[k * nb + r], n, &permuted[other], n);
        }
    }
    return relative_difference(permuted, lu, n, norm1(original, n));
}

double geqrf_residual(const Dense &original, const TileMatrix &factored, const TileMatrix &t)
{
    const int n = factored.cols();
    const Dense all = factored.dense();
    Dense q = identity(n);
    for (int k = factored.nt() - 1; k >= 0; --k)
        apply_column(all, t, k, q, n);
    const Dense qr = product(q, 'N', triangle(all, n, Part::upper), n);
    // Q is square: Q Q^T is as far from the identity as Q^T Q.
    const double orthogonality = relative_difference(identity(n), product(q, 'T', q, n), n, 1.0);
    const double residual = relative_difference(original, qr, n, norm1(original, n));
    return orthogonality <= residual ? residual : orthogonality;
}
