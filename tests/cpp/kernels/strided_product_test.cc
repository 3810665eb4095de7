#include "kernels/gemm/strided_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/float_arrays.h"
#include "kernels/guarded.h"
#include "kernels/tables_that_run.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

using testing::NormalFloats;
using Random = std::mt19937;

struct ProductCase {
  StridedProduct job;
  std::vector<float> a, b, c;
  std::vector<double> expected, magnitude;
};

// Either order of a's elements, gaps behind rows of b and c.
ProductCase DrawProduct(Random& random) {
  const auto upto = [&](std::uint32_t n) { return 1 + static_cast<std::int64_t>(random() % n); };
  ProductCase result;
  StridedProduct& job = result.job;
  job.rows = upto(110);
  job.columns = upto(150);
  job.length = upto(30);
  const bool is_transposed = random() % 2 == 0;
  job.a_row = is_transposed ? 1 : job.length;
  job.a_column = is_transposed ? job.rows : 1;
  job.b_row = job.columns + static_cast<std::int64_t>(random() % 3);
  job.c_row = job.columns + static_cast<std::int64_t>(random() % 3);
  job.adds = random() % 2 == 0;
  result.a = NormalFloats(random, job.rows * job.length);
  result.b = NormalFloats(random, (job.length - 1) * job.b_row + job.columns);
  result.c = NormalFloats(random, (job.rows - 1) * job.c_row + job.columns);
  for (std::int64_t i = 0; i < job.rows; ++i) {
    for (std::int64_t j = 0; j < job.columns; ++j) {
      double sum = job.adds ? static_cast<double>(result.c[i * job.c_row + j]) : 0, magnitude = std::fabs(sum);
      for (std::int64_t k = 0; k < job.length; ++k) {
        const double product = static_cast<double>(result.a[i * job.a_row + k * job.a_column]) *
                               static_cast<double>(result.b[k * job.b_row + j]);
        sum += product;
        magnitude += std::fabs(product);
      }
      result.expected.push_back(sum);
      result.magnitude.push_back(magnitude);
    }
  }
  return result;
}

// Between rows nothing changes.
void ExpectResult(const ProductCase& given, const std::vector<float>& c) {
  const StridedProduct& job = given.job;
  for (std::size_t place = 0; place < c.size(); ++place) {
    const auto row = static_cast<std::int64_t>(place) / job.c_row,
               column = static_cast<std::int64_t>(place) % job.c_row;
    if (column >= job.columns) {
      EXPECT_EQ(c[place], given.c[place]);
    } else {
      const auto i = static_cast<std::size_t>(row * job.columns + column);
      EXPECT_NEAR(c[place], given.expected[i], 1e-6 * given.magnitude[i]);
    }
  }
}

TEST(StridedProduct, AnySizes) {
  Random random(11);
  for (int i = 0; i < 60; ++i) {
    const ProductCase given = DrawProduct(random);
    const Guarded<float> a(given.a), b(given.b);
    std::vector<float> first;
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const Guarded<float> c(given.c);
      RunStridedProduct(given.job, a.data(), b.data(), c.data());
      ExpectResult(given, c.values());
      if (first.empty()) first = c.values();
      ASSERT_EQ(first, c.values());
    }
    ASSERT_FALSE(HasFailure()) << "case " << i;
  }
}

TEST(StridedProduct, EachInstructionSet) {
  Random random(12);
  for (const StridedProductTable* table : testing::TablesThatRun<StridedProductTable>()) {
    for (int i = 0; i < 20; ++i) {
      const ProductCase given = DrawProduct(random);
      const Guarded<float> a(given.a), b(given.b), c(given.c);
      table->run(given.job, a.data(), b.data(), c.data());
      ExpectResult(given, c.values());
      ASSERT_FALSE(HasFailure()) << IsaName(table->isa) << ", case " << i;
    }
  }
}

}  // namespace
}  // namespace amp::kernels
