// The residuals, from the factors as dense matrices and plain BLAS calls on one thread.
#include "check.hpp"

#include "blas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace {

using Dense = std::vector<double>;

std::size_t square(int n) { return static_cast<std::size_t>(n) * n; }

/// Largest sum of magnitudes of a column; not a number if there is one that is not.
double norm1(const Dense& a, int n)
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
double relative_difference(const Dense& a, const Dense& b, int n, double scale)
{
    Dense difference(square(n));
    std::transform(a.begin(), a.end(), b.begin(), difference.begin(), [](double x, double y) { return x - y; });
    const double eps = std::numeric_limits<double>::epsilon() / 2;
    return norm1(difference, n) / (n * scale * eps);
}

enum class Part { lower, unit_lower, upper };

/// One triangle of a matrix, zeros elsewhere.
Dense triangle(const Dense& a, int n, Part part)
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
Dense product(const Dense& a, char tb, const Dense& b, int n)
{
    Dense c(square(n));
    blas::gemm('N', tb, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
    return c;
}

/// C = Q_k C for block column k of a QR factorization; touches the rows from the diagonal tile of k downwards.
void apply_reflectors(const Dense& vectors, const TileMatrix& t, int k, Dense& c, int n)
{
    const int top = k * t.nb(), rows = n - top;
    const Tile tk = t.tile(0, k);
    const int width = tk.cols;
    Dense v(static_cast<std::size_t>(rows) * width), w(static_cast<std::size_t>(width) * n);
    for (int j = 0; j < width; ++j) {
        v[j * static_cast<std::size_t>(rows) + j] = 1.0;
        for (int i = j + 1; i < rows; ++i)
            v[j * static_cast<std::size_t>(rows) + i] = vectors[(top + j) * static_cast<std::size_t>(n) + top + i];
    }
    blas::gemm('T', 'N', width, n, rows, 1.0, v.data(), rows, c.data() + top, n, 0.0, w.data(), width);
    blas::trmm('L', 'U', 'N', 'N', width, n, 1.0, tk.data, tk.ld, w.data(), width);
    blas::gemm('N', 'N', rows, n, width, -1.0, v.data(), rows, w.data(), width, 1.0, c.data() + top, n);
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
    for (double& x : a) { // SplitMix64
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

double potrf_residual(const Dense& original, const TileMatrix& factored)
{
    const int n = factored.cols();
    const Dense l = triangle(factored.dense(), n, Part::lower);
    return relative_difference(original, product(l, 'T', l, n), n, norm1(original, n));
}

double getrf_residual(const Dense& original, const TileMatrix& factored, const Pivots& pivots)
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

double geqrf_residual(const Dense& original, const TileMatrix& factored, const TileMatrix& t)
{
    const int n = factored.cols();
    const Dense all = factored.dense();
    Dense q = identity(n);
    for (int k = factored.nt() - 1; k >= 0; --k)
        apply_reflectors(all, t, k, q, n);
    const Dense qr = product(q, 'N', triangle(all, n, Part::upper), n);
    // Q is square: Q Q^T is as far from the identity as Q^T Q.
    const double orthogonality = relative_difference(identity(n), product(q, 'T', q, n), n, 1.0);
    const double residual = relative_difference(original, qr, n, norm1(original, n));
    return orthogonality <= residual ? residual : orthogonality;
}
