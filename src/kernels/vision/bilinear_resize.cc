#include "kernels/vision/bilinear_resize.h"

#include <algorithm>
#include <utility>

#include "kernels/base/round_up.h"
#include "kernels/movement/weighted_rows.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kRows = 64, kColumns = 1024;  // of the result, that a part has

}  // namespace

BilinearResize::BilinearResize(std::int64_t planes, std::int64_t height, std::int64_t width,
                               std::vector<LinearSample> rows, const std::vector<LinearSample>& columns)
    : planes_(planes), height_(height), width_(width), rows_(std::move(rows)) {
  for (const LinearSample& column : columns) {
    first_.push_back(static_cast<std::int32_t>(column.first));
    second_.push_back(static_cast<std::int32_t>(column.second));
    weights_.push_back(column.weight);
  }
}

void BilinearResize::Run(const float* x, float* y) const {
  const auto num_rows = static_cast<std::int64_t>(rows_.size()), num_columns = static_cast<std::int64_t>(first_.size());
  const std::int64_t down = CeilDiv(num_rows, kRows), across = CeilDiv(num_columns, kColumns);
  const std::int64_t grain =
      std::max<std::int64_t>(1, 4096 / (std::min(num_rows, kRows) * std::min(num_columns, kColumns)));
  ParallelFor(planes_ * down * across, grain, [&](std::int64_t i) {
    const std::int64_t plane = i / (down * across);
    RunPart(x + plane * height_ * width_, y + plane * num_rows * num_columns, i / across % down * kRows,
            i % across * kColumns);
  });
}

// Rows of the source are interpolated along their columns once, and kept as long as results are between them.
void BilinearResize::RunPart(const float* x, float* y, std::int64_t first_row, std::int64_t first_column) const {
  const auto num_rows = static_cast<std::int64_t>(rows_.size()), num_columns = static_cast<std::int64_t>(first_.size());
  const std::int64_t count = std::min(kColumns, num_columns - first_column);
  const WeightedRowsTable& code = BestTable<WeightedRowsTable>();
  alignas(64) float lines[2 * kColumns];
  std::int64_t held[2] = {-1, -1};  // even and odd rows of the source
  const auto line_of = [&](std::int64_t row) {
    const std::int64_t parity = row % 2;
    if (std::exchange(held[parity], row) != row) {
      code.interpolate(x + row * width_, first_.data() + first_column, second_.data() + first_column,
                       weights_.data() + first_column, lines + parity * kColumns, count);
    }
    return parity * kColumns;
  };
  for (std::int64_t i = first_row; i < std::min(num_rows, first_row + kRows); ++i) {
    const std::int64_t offsets[] = {line_of(rows_[i].first), line_of(rows_[i].second)};
    const float weights[] = {1 - rows_[i].weight, rows_[i].weight};
    code.sum(lines, offsets, weights, 2, false, y + i * num_columns + first_column, count);
  }
}

}  // namespace amp::kernels
