#include "kernels/winograd/winograd_rounding_code.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/winograd/winograd_points.h"

namespace amp::kernels {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix Zeros(std::size_t rows, std::size_t columns) { return Matrix(rows, std::vector<double>(columns)); }

Matrix Transposed(const Matrix& a) {
  Matrix t = Zeros(a[0].size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

Matrix Product(const Matrix& a, const Matrix& b) {
  Matrix product = Zeros(a.size(), b[0].size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < b[0].size(); ++j) product[i][j] += a[i][k] * b[k][j];
    }
  }
  return product;
}

// The last point is infinity.
constexpr double kFirst = WinogradPoints<2>::kValues[0], kSecond = WinogradPoints<2>::kValues[1];
const std::array<double, 5> kPoints = {0, kFirst, -kFirst, kSecond, -kSecond};

// The transform of products to results, [result][product].
Matrix Output() {
  Matrix a = Zeros(4, 6);
  for (int i = 0; i < 4; ++i) {
    for (std::size_t p = 0; p < 5; ++p) a[static_cast<std::size_t>(i)][p] = std::pow(kPoints[p], i);
  }
  a[3][5] = 1;
  return a;
}

// That of weights, with Lagrange's factors: [product][tap].
Matrix Weights() {
  Matrix g = Zeros(6, 3);
  for (std::size_t p = 0; p < 5; ++p) {
    double factor = 1;
    for (std::size_t q = 0; q < 5; ++q) factor /= q == p ? 1 : kPoints[p] - kPoints[q];
    for (int tap = 0; tap < 3; ++tap) g[p][static_cast<std::size_t>(tap)] = factor * std::pow(kPoints[p], tap);
  }
  g[5][2] = 1;
  return g;
}

// That of tiles, [product][column]: coefficients of the polynomial that is zero at all points but the product's.
Matrix Tiles() {
  Matrix b = Zeros(6, 6);
  for (std::size_t p = 0; p < 6; ++p) {
    std::vector<double> polynomial{1};
    for (std::size_t q = 0; q < 5; ++q) {
      if (q == p) continue;
      std::vector<double> longer(polynomial.size() + 1);
      for (std::size_t i = 0; i < polynomial.size(); ++i) {
        longer[i + 1] += polynomial[i];
        longer[i] -= kPoints[q] * polynomial[i];
      }
      polynomial = longer;
    }
    for (std::size_t i = 0; i < polynomial.size(); ++i) b[p][i] = polynomial[i];
  }
  return b;
}

// What an error of each number adds to the mean square of results, if what it is multiplied with has these moments.
Matrix Cost(const Matrix& moments) {
  Matrix cost = Product(Transposed(Output()), Output());
  for (std::size_t p = 0; p < 6; ++p) {
    for (std::size_t q = 0; q < 6; ++q) cost[p][q] *= moments[p][q];
  }
  return cost;
}

// x of a x = b, by Gaussian elimination; a is positive definite.
std::vector<double> Solved(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = 0; k < n; ++k) b[k] /= a[k][k];
  return b;
}

void ExpectShares(const float (&shares)[5][6], const Matrix& cost) {
  const auto at = [](std::size_t i) { return static_cast<std::size_t>(WinogradRounding::kOrder[i]); };
  for (std::size_t i = 0; i < 5; ++i) {
    const std::size_t rest = 5 - i;
    Matrix a = Zeros(rest, rest);
    std::vector<double> b(rest);
    for (std::size_t j = 0; j < rest; ++j) {
      b[j] = -cost[at(i + 1 + j)][at(i)];
      for (std::size_t k = 0; k < rest; ++k) a[j][k] = cost[at(i + 1 + j)][at(i + 1 + k)];
    }
    const std::vector<double> best = Solved(a, b);
    for (std::size_t j = 0; j < rest; ++j) EXPECT_NEAR(shares[i][i + 1 + j], best[j], 2e-6) << i << ", " << j;
  }
}

TEST(WinogradRounding, SharesAreThoseOfTheFormula) {
  ExpectShares(WinogradRounding::kOfTiles, Cost(Product(Weights(), Transposed(Weights()))));
  Matrix moments = Zeros(6, 6);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j)
      moments[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = 0.4 + std::pow(0.4, std::abs(i - j));
  }
  ExpectShares(WinogradRounding::kOfWeights, Cost(Product(Product(Tiles(), moments), Transposed(Tiles()))));
}

}  // namespace
}  // namespace amp::kernels
