// Test matrices, and residuals in the form of LAPACK's own tests.
//
// All residuals are ||A - product of the factors|| / (n ||A|| eps) in the 1-norm, with eps the unit roundoff.
// They are near 1 or below for a good factorization and of any size for a wrong one.
#pragma once

#include "routines.hpp"

#include <cstdint>
#include <vector>

/// The residual above which LAPACK's tests call a routine broken.
constexpr double residual_bound = 30.0;

/// A column-major matrix of order n with numbers from -0.5 to 0.5; for Cholesky symmetric, with n added on
/// the diagonal.
std::vector<double> random_matrix(int n, std::uint64_t seed, bool positive_definite);

/// Of L L^T.
double potrf_residual(const std::vector<double> &original, const TileMatrix &factored);
/// Of P A = L U.
double getrf_residual(const std::vector<double> &original, const TileMatrix &factored, const Pivots &pivots);
/// Of Q R, or ||I - Q^T Q|| / (n eps) if that is larger.
double geqrf_residual(const std::vector<double> &original, const TileMatrix &factored, const TileMatrix &t);
