// The few BLAS and LAPACK routines that the kernels call, under names that take values instead of pointers.
//
// Declared here instead of taken from cblas.h: the Fortran symbols are the same in every BLAS, and no header
// package is needed. All matrices are column-major; `ld` is the distance between columns in elements.
#pragma once

#include <ctime>

extern "C" {
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
void dsyrk_(const char *, const char *, const int *, const int *, const double *, const double *, const int *,
            const double *, double *, const int *);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *);
void dtrmm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *);
void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *);
void dtrmv_(const char *, const char *, const char *, const int *, const double *, const int *, double *,
            const int *);
void dger_(const int *, const int *, const double *, const double *, const int *, const double *, const int *,
           double *, const int *);
void dscal_(const int *, const double *, double *, const int *);
void dswap_(const int *, double *, const int *, double *, const int *);
double ddot_(const int *, const double *, const int *, const double *, const int *);
int idamax_(const int *, const double *, const int *);
void dpotrf_(const char *, const int *, double *, const int *, int *);
}

namespace blas {

/// If not zero, the kernels on whole tiles do nothing but sleep, for as long as their work would take at so
/// many GFlop/s. Workers beyond the cores then make a difference: a stand-in for tasks that wait for messages
/// or for a device.
inline double sleeping_gflops = 0.0;

/// Sleeps instead of so many operations, if that is asked for.
inline bool sleeps(double operations)
{
    if (sleeping_gflops == 0.0)
        return false;
    timespec time{0, static_cast<long>(operations / sleeping_gflops)};
    nanosleep(&time, nullptr);
    return true;
}

/// C = alpha op(A) op(B) + beta C, where op is 'N' or 'T'; C is m x n, the inner size is k.
inline void gemm(char ta, char tb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc)
{
    if (sleeps(2.0 * m * n * k))
        return;
    dgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}

/// C -= A A^T in the lower triangle of the n x n matrix C; A is n x k.
inline void syrk_lower(int n, int k, const double *a, int lda, double *c, int ldc)
{
    if (sleeps(1.0 * n * n * k))
        return;
    const char uplo = 'L', trans = 'N';
    const double minus = -1.0, one = 1.0;
    dsyrk_(&uplo, &trans, &n, &k, &minus, a, &lda, &one, c, &ldc);
}

/// Solves op(A) X = B (side 'L') or X op(A) = B (side 'R') in place of B, which is m x n.
inline void trsm(char side, char uplo, char trans, char diag, int m, int n, const double *a, int lda,
                 double *b, int ldb)
{
    if (sleeps(1.0 * m * n * (side == 'L' ? m : n)))
        return;
    const double one = 1.0;
    dtrsm_(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb);
}

/// B = alpha op(A) B (side 'L') or alpha B op(A) (side 'R'); B is m x n.
inline void trmm(char side, char uplo, char trans, char diag, int m, int n, double alpha, const double *a,
                 int lda, double *b, int ldb)
{
    if (sleeps(1.0 * m * n * (side == 'L' ? m : n)))
        return;
    dtrmm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
}

/// y += A^T x; A is m x n.
inline void gemv_trans(int m, int n, const double *a, int lda, const double *x, double *y)
{
    const char trans = 'T';
    const double one = 1.0;
    const int step = 1;
    dgemv_(&trans, &m, &n, &one, a, &lda, x, &step, &one, y, &step);
}

/// x = A x for an upper triangular A of order n.
inline void trmv_upper(int n, const double *a, int lda, double *x)
{
    const char uplo = 'U', trans = 'N', diag = 'N';
    const int step = 1;
    dtrmv_(&uplo, &trans, &diag, &n, a, &lda, x, &step);
}

/// A -= x y^T; A is m x n, the elements of y are `incy` apart.
inline void subtract_outer(int m, int n, const double *x, const double *y, int incy, double *a, int lda)
{
    const double minus = -1.0;
    const int step = 1;
    dger_(&m, &n, &minus, x, &step, y, &incy, a, &lda);
}

/// x *= alpha.
inline void scal(int n, double alpha, double *x)
{
    const int step = 1;
    dscal_(&n, &alpha, x, &step);
}

/// Exchanges two vectors whose elements are `incx` and `incy` apart.
inline void swap(int n, double *x, int incx, double *y, int incy)
{
    dswap_(&n, x, &incx, y, &incy);
}

/// Sum of the squares of x.
inline double sum_of_squares(int n, const double *x)
{
    const int step = 1;
    return ddot_(&n, x, &step, x, &step);
}

/// Index, from 0, of the element of x that is largest in magnitude; n must be positive.
inline int iamax(int n, const double *x)
{
    const int step = 1;
    return idamax_(&n, x, &step) - 1;
}

/// Cholesky factor of the lower triangle of A, in place. Returns LAPACK's info: 0 when A is positive
/// definite.
inline int potrf_lower(int n, double *a, int lda)
{
    if (sleeps(n / 3.0 * n * n))
        return 0;
    const char uplo = 'L';
    int info = 0;
    dpotrf_(&uplo, &n, a, &lda, &info);
    return info;
}

} // namespace blas
