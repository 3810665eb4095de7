#include "kernels/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace amp::kernels {
namespace {

// A tile of so many rows and columns stays in the nearest cache while one side is read or written across.
constexpr std::int64_t kTileRows = 64, kTileColumns = 32;

#ifdef __SSE2__
constexpr std::int64_t kSquare = 8;

// Turns squares of 8 x 8 elements in registers: y[r * y_stride + c] = x[c * x_stride + r].
void TransposeSquare(const std::uint16_t* x, std::int64_t x_stride, std::uint16_t* y, std::int64_t y_stride) {
  __m128i a[kSquare], b[kSquare];
  for (int i = 0; i < kSquare; ++i) a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i * x_stride));
  for (int i = 0; i < 4; ++i) {  // b[2 i], b[2 i + 1]: x's rows 2 i and 2 i + 1, element by element
    b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {  // a[4 i + j]: columns 2 j and 2 j + 1 of rows 4 i to 4 i + 3
    for (int j = 0; j < 2; ++j) {
      a[4 * i + 2 * j] = _mm_unpacklo_epi32(b[4 * i + j], b[4 * i + 2 + j]);
      a[4 * i + 2 * j + 1] = _mm_unpackhi_epi32(b[4 * i + j], b[4 * i + 2 + j]);
    }
  }
  for (int j = 0; j < 4; ++j) {
    b[2 * j] = _mm_unpacklo_epi64(a[j], a[4 + j]);
    b[2 * j + 1] = _mm_unpackhi_epi64(a[j], a[4 + j]);
  }
  for (int i = 0; i < kSquare; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i * y_stride), b[i]);
}
#endif

// y[r * y_stride + c] = x[c * x_stride + r] for so many r and c.
void Transpose(const std::uint16_t* x, std::int64_t x_stride, std::uint16_t* y, std::int64_t y_stride,
               std::int64_t num_rows, std::int64_t num_columns) {
  std::int64_t whole_rows = 0, whole_columns = 0;  // what squares cover
#ifdef __SSE2__
  whole_rows = num_rows / kSquare * kSquare;
  whole_columns = num_columns / kSquare * kSquare;
  for (std::int64_t r = 0; r < whole_rows; r += kSquare) {
    for (std::int64_t c = 0; c < whole_columns; c += kSquare) {
      TransposeSquare(x + c * x_stride + r, x_stride, y + r * y_stride + c, y_stride);
    }
  }
#endif
  for (std::int64_t r = 0; r < num_rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < num_columns; ++c) {
      y[r * y_stride + c] = x[c * x_stride + r];
    }
  }
}

}  // namespace

void StridedCopy::AddAxis(std::int64_t size, std::int64_t from, std::int64_t to) {
  if (size == 0) is_empty_ = true;
  if (size > 1) axes_[num_axes_++] = {size, from, to};
}

void StridedCopy::Prepare() {
  const auto end = axes_.begin() + static_cast<std::ptrdiff_t>(num_axes_);
  std::sort(axes_.begin(), end, [](const Axis& a, const Axis& b) { return a.to > b.to; });
  MergeAxes();
  // At least rows and columns; axes of size 1 stand in front.
  while (num_axes_ < 2) {
    std::move_backward(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(num_axes_),
                       axes_.begin() + static_cast<std::ptrdiff_t>(num_axes_) + 1);
    axes_[0] = Axis();
    ++num_axes_;
  }
  // Columns are next to each other in `to`, rows in `from`, if columns are not.
  const auto columns = axes_.begin() + static_cast<std::ptrdiff_t>(num_axes_) - 1;
  const auto rows =
      std::min_element(axes_.begin(), columns, [](const Axis& a, const Axis& b) { return a.from < b.from; });
  if (columns->from != 1) std::rotate(rows, rows + 1, columns);
}

// Neighbours that are one axis on both sides.
void StridedCopy::MergeAxes() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < num_axes_; ++i) {
    const Axis axis = axes_[i];
    Axis* before = count == 0 ? nullptr : &axes_[count - 1];
    if (before != nullptr && before->from == axis.size * axis.from && before->to == axis.size * axis.to) {
      *before = {before->size * axis.size, axis.from, axis.to};
    } else {
      axes_[count++] = axis;
    }
  }
  num_axes_ = count;
}

void StridedCopy::Run(const void* from, void* to) const {
  if (is_empty_) return;
  const Axis& rows = axes_[num_axes_ - 2];
  const std::int64_t stripes = (rows.size + kTileRows - 1) / kTileRows;
  std::int64_t count = stripes;
  for (std::size_t i = 0; i + 2 < num_axes_; ++i) count *= axes_[i].size;
  const std::int64_t columns = axes_[num_axes_ - 1].size;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (std::min(rows.size, kTileRows) * columns));
  ParallelFor(count, grain, [&](std::int64_t i) {
    const std::int64_t first = i % stripes * kTileRows;
    std::int64_t rest = i / stripes, from_at = first * rows.from, to_at = first * rows.to;
    for (std::size_t axis = num_axes_ - 2; axis-- > 0; rest /= axes_[axis].size) {
      const std::int64_t index = rest % axes_[axis].size;
      from_at += index * axes_[axis].from;
      to_at += index * axes_[axis].to;
    }
    CopyRows(static_cast<const std::uint16_t*>(from) + from_at, static_cast<std::uint16_t*>(to) + to_at,
             std::min(kTileRows, rows.size - first));
  });
}

void StridedCopy::CopyRows(const std::uint16_t* from, std::uint16_t* to, std::int64_t num_rows) const {
  const Axis& rows = axes_[num_axes_ - 2];
  const Axis& columns = axes_[num_axes_ - 1];
  if (columns.from == 1 && columns.to == 1) {
    for (std::int64_t r = 0; r < num_rows; ++r) {
      std::memcpy(to + r * rows.to, from + r * rows.from, static_cast<std::size_t>(columns.size) * sizeof(*to));
    }
    return;
  }
  for (std::int64_t first = 0; first < columns.size; first += kTileColumns) {
    const std::int64_t last = std::min(columns.size, first + kTileColumns);
    if (rows.from == 1 && columns.to == 1) {
      Transpose(from + first * columns.from, columns.from, to + first, rows.to, num_rows, last - first);
      continue;
    }
    for (std::int64_t r = 0; r < num_rows; ++r) {
      for (std::int64_t c = first; c < last; ++c) {
        to[r * rows.to + c * columns.to] = from[r * rows.from + c * columns.from];
      }
    }
  }
}

}  // namespace amp::kernels
