#include "kernels/gemm/strided_product.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kRows = 48, kColumns = 64, kWorthAThread = 1 << 16;  // of a part, and its multiplications

}  // namespace

void RunStridedProduct(const StridedProduct& job, const float* a, const float* b, float* c) {
  const std::int64_t down = CeilDiv(job.rows, kRows), across = CeilDiv(job.columns, kColumns);
  const std::int64_t each = std::max<std::int64_t>(1, kRows * kColumns * job.length);
  const auto run = BestTable<StridedProductTable>().run;
  ParallelFor(down * across, std::max<std::int64_t>(1, kWorthAThread / each), [&](std::int64_t i) {
    const std::int64_t row = i % down * kRows, column = i / down * kColumns;
    StridedProduct part = job;
    part.rows = std::min(kRows, job.rows - row);
    part.columns = std::min(kColumns, job.columns - column);
    run(part, a + row * job.a_row, b + column, c + row * job.c_row + column);
  });
}

}  // namespace amp::kernels
