#include "kernels/movement/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/base/elements.h"
#include "kernels/threads/parallel.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace amp::kernels {
namespace {

// A tile of so many rows and columns stays in the nearest cache while one side is read or written across.
constexpr std::int64_t kTileRows = 64, kTileColumns = 32;
// The numbers of elements that are worth a call, and a thread.
constexpr std::int64_t kBlockElements = 4096, kGrainElements = 16384;
// Columns up to this number are copied by code for just this number.
constexpr std::int64_t kMaxShort = 8;

#ifdef __SSE2__
__m128i Load(const void* x) { return _mm_loadu_si128(static_cast<const __m128i*>(x)); }
void Store(void* y, __m128i value) { _mm_storeu_si128(static_cast<__m128i*>(y), value); }

// Turns squares of 8 x 8 elements in registers: y[r * y_stride + c] = x[c * x_stride + r].
void TransposeSquare(const std::uint8_t* x, std::int64_t x_stride, std::uint8_t* y, std::int64_t y_stride) {
  __m128i a[4], b[4];
  for (int i = 0; i < 4; ++i) {  // a[i]: x's rows 2 i and 2 i + 1, element by element
    const auto row = [&](int r) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + r * x_stride)); };
    a[i] = _mm_unpacklo_epi8(row(2 * i), row(2 * i + 1));
  }
  for (int i = 0; i < 2; ++i) {  // b[2 i + j]: columns 4 j to 4 j + 3 of rows 4 i to 4 i + 3
    b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
  }
  for (int j = 0; j < 2; ++j) {
    const __m128i pairs[] = {_mm_unpacklo_epi32(b[j], b[2 + j]), _mm_unpackhi_epi32(b[j], b[2 + j])};
    for (int i = 0; i < 2; ++i) {
      std::uint8_t* row = y + (4 * j + 2 * i) * y_stride;
      _mm_storel_epi64(reinterpret_cast<__m128i*>(row), pairs[i]);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(row + y_stride), _mm_unpackhi_epi64(pairs[i], pairs[i]));
    }
  }
}

// Turns squares of 8 x 8 elements of two bytes.
void TransposeSquare(const std::uint16_t* x, std::int64_t x_stride, std::uint16_t* y, std::int64_t y_stride) {
  __m128i a[8], b[8];
  for (int i = 0; i < 8; ++i) a[i] = Load(x + i * x_stride);
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
  for (int i = 0; i < 8; ++i) Store(y + i * y_stride, b[i]);
}

// Turns squares of 4 x 4 elements of four bytes.
void TransposeSquare(const std::uint32_t* x, std::int64_t x_stride, std::uint32_t* y, std::int64_t y_stride) {
  __m128i a[4], b[4];
  for (int i = 0; i < 4; ++i) a[i] = Load(x + i * x_stride);
  for (int i = 0; i < 2; ++i) {  // b[2 i], b[2 i + 1]: x's rows 2 i and 2 i + 1, element by element
    b[2 * i] = _mm_unpacklo_epi32(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm_unpackhi_epi32(a[2 * i], a[2 * i + 1]);
  }
  for (int j = 0; j < 2; ++j) {
    Store(y + 2 * j * y_stride, _mm_unpacklo_epi64(b[j], b[2 + j]));
    Store(y + (2 * j + 1) * y_stride, _mm_unpackhi_epi64(b[j], b[2 + j]));
  }
}

template <class T>
constexpr std::int64_t kSquare = sizeof(T) <= 2   ? 8
                                 : sizeof(T) == 4 ? 4
                                                  : 0;
#else
template <class T>
constexpr std::int64_t kSquare = 0;
#endif

// y[r * y_stride + c] = x[c * x_stride + r] for so many r and c.
template <class T>
void Transpose(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride, std::int64_t num_rows,
               std::int64_t num_columns) {
  std::int64_t whole_rows = 0, whole_columns = 0;  // what squares cover
  if constexpr (kSquare<T> != 0) {
    whole_rows = num_rows / kSquare<T> * kSquare<T>;
    whole_columns = num_columns / kSquare<T> * kSquare<T>;
    for (std::int64_t r = 0; r < whole_rows; r += kSquare<T>) {
      for (std::int64_t c = 0; c < whole_columns; c += kSquare<T>) {
        TransposeSquare(x + c * x_stride + r, x_stride, y + r * y_stride + c, y_stride);
      }
    }
  }
  for (std::int64_t r = 0; r < num_rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < num_columns; ++c) {
      y[r * y_stride + c] = x[c * x_stride + r];
    }
  }
}

// y[c] = x[-c]. A stride that the compiler knows makes it vectors.
template <class T>
void CopyReversed(const T* x, T* y, std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c) y[c] = x[-c];
}

template <std::size_t kBytes>
void CopyRowsOf(const char* from, std::int64_t from_bytes, char* to, std::int64_t to_bytes, std::int64_t num_rows) {
  for (std::int64_t r = 0; r < num_rows; ++r) std::memcpy(to + r * to_bytes, from + r * from_bytes, kBytes);
}

// Rows of `bytes` bytes, so many bytes apart. Blocks of channels have sizes that are worth code of their own.
void CopyWholeRows(const char* from, std::int64_t from_bytes, char* to, std::int64_t to_bytes, std::int64_t num_rows,
                   std::size_t bytes) {
  switch (bytes) {
    case 16:
      return CopyRowsOf<16>(from, from_bytes, to, to_bytes, num_rows);
    case 32:
      return CopyRowsOf<32>(from, from_bytes, to, to_bytes, num_rows);
    case 64:
      return CopyRowsOf<64>(from, from_bytes, to, to_bytes, num_rows);
    default:
      for (std::int64_t r = 0; r < num_rows; ++r) std::memcpy(to + r * to_bytes, from + r * from_bytes, bytes);
  }
}

// Strides of rows and columns on both sides; columns are neighbours in `to`.
struct RowStrides {
  std::int64_t from_row, from_column, to_row;
};

template <class T, std::int64_t kColumns>
void CopyShortRows(const T* from, T* to, std::int64_t num_rows, const RowStrides& strides) {
  const auto [from_row, from_column, to_row] = strides;
  const auto copy = [&](auto column_stride) {
    for (std::int64_t r = 0; r < num_rows; ++r) {
      for (std::int64_t c = 0; c < kColumns; ++c) to[r * to_row + c] = from[r * from_row + c * column_stride()];
    }
  };
  if (from_column == 0) return copy([] { return std::int64_t{0}; });
  if (from_column == 1) return copy([] { return std::int64_t{1}; });
  copy([&] { return from_column; });
}

template <class T, std::int64_t... kIndices>
void CopyShortRows(const T* from, T* to, std::int64_t num_rows, std::int64_t num_columns, const RowStrides& strides,
                   std::integer_sequence<std::int64_t, kIndices...>) {
  using Function = void (*)(const T*, T*, std::int64_t, const RowStrides&);
  static constexpr Function kFunctions[] = {CopyShortRows<T, kIndices + 1>...};
  kFunctions[num_columns - 1](from, to, num_rows, strides);
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
  // At least planes, rows and columns; axes of size 1 stand in front.
  while (num_axes_ < 3) {
    std::move_backward(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(num_axes_),
                       axes_.begin() + static_cast<std::ptrdiff_t>(num_axes_) + 1);
    axes_[0] = Axis();
    ++num_axes_;
  }
  ChooseRows();
  ChooseBlock();
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

// Columns are next to each other in `to`. Where they are far from each other in `from`, rows are near there.
void StridedCopy::ChooseRows() {
  const auto last = axes_.begin() + static_cast<std::ptrdiff_t>(num_axes_) - 1;
  const auto distance = [](const Axis& axis) {
    return axis.size == 1 || axis.from == 0 ? std::int64_t{1} << 62 : std::abs(axis.from);
  };
  const auto nearest =
      std::min_element(axes_.begin(), last, [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  const bool is_short = columns().to == 1 && columns().size <= kMaxShort;
  if (columns().to == 1 && columns().from == 1) {
    way_ = is_short ? Way::kShortRows : Way::kRows;
    if (planes().size > rows().size) std::swap(axes_[num_axes_ - 3], axes_[num_axes_ - 2]);  // many rows in a call
  } else if (columns().to == 1 && columns().from == 0) {
    way_ = is_short ? Way::kShortRows : Way::kFill;
  } else if (columns().to == 1 && columns().from == -1) {
    way_ = is_short ? Way::kShortRows : Way::kReversed;
  } else if (distance(*nearest) < distance(columns())) {
    std::rotate(nearest, nearest + 1, last);
    const bool is_transpose = rows().from == 1 && columns().to == 1;
    way_ = !is_transpose ? Way::kElements : columns().size < 4 ? Way::kShortRows : Way::kTranspose;
  } else {
    way_ = is_short ? Way::kShortRows : Way::kElements;
  }
}

void StridedCopy::ChooseBlock() {
  block_.columns = std::min(columns().size, kGrainElements);
  block_.rows = way_ == Way::kTranspose || way_ == Way::kElements
                    ? std::min(rows().size, kTileRows)
                    : std::clamp<std::int64_t>(kGrainElements / block_.columns, 1, rows().size);
  block_.planes = std::clamp<std::int64_t>(kBlockElements / (block_.columns * block_.rows), 1, planes().size);
  if (way_ != Way::kRows || planes().to >= rows().to) return;
  // Planes share lines of memory: threads get rows of all planes.
  block_.planes = planes().size;
  block_.rows = std::clamp<std::int64_t>(kGrainElements / (block_.columns * block_.planes), 1, rows().size);
}

void StridedCopy::Run(const void* from, void* to) const {
  if (is_empty_) return;
  WithElementOf(element_bytes_, [&](auto zero) {
    using T = decltype(zero);
    RunAs(static_cast<const T*>(from), static_cast<T*>(to));
  });
}

template <class T>
void StridedCopy::RunAs(const T* from, T* to) const {
  // Blocks along the three innermost axes, then positions of the others.
  const std::int64_t sizes[] = {planes().size, rows().size, columns().size};
  const std::int64_t steps[] = {block_.planes, block_.rows, block_.columns};
  std::int64_t counts[3], count = 1;
  for (int i = 0; i < 3; ++i) count *= counts[i] = (sizes[i] + steps[i] - 1) / steps[i];
  for (std::size_t i = 0; i + 3 < num_axes_; ++i) count *= axes_[i].size;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / (steps[0] * steps[1] * steps[2]));
  ParallelFor(count, grain, [&](std::int64_t i) {
    std::int64_t firsts[3], rest = i;
    const T* source = from;
    T* target = to;
    for (int axis = 3; axis-- > 0; rest /= counts[axis]) {
      firsts[axis] = rest % counts[axis] * steps[axis];
      const Axis& inner = axes_[num_axes_ - 3 + static_cast<std::size_t>(axis)];
      source += firsts[axis] * inner.from;
      target += firsts[axis] * inner.to;
    }
    for (std::size_t axis = num_axes_ - 3; axis-- > 0; rest /= axes_[axis].size) {
      source += rest % axes_[axis].size * axes_[axis].from;
      target += rest % axes_[axis].size * axes_[axis].to;
    }
    const std::int64_t num_planes = std::min(steps[0], sizes[0] - firsts[0]);
    for (std::int64_t plane = 0; plane < num_planes; ++plane) {
      CopyRows(source + plane * planes().from, target + plane * planes().to, std::min(steps[1], sizes[1] - firsts[1]),
               std::min(steps[2], sizes[2] - firsts[2]));
    }
  });
}

template <class T>
void StridedCopy::CopyRows(const T* from, T* to, std::int64_t num_rows, std::int64_t num_columns) const {
  switch (way_) {
    case Way::kRows: {
      constexpr std::int64_t kBytes = sizeof(T);
      return CopyWholeRows(reinterpret_cast<const char*>(from), rows().from * kBytes, reinterpret_cast<char*>(to),
                           rows().to * kBytes, num_rows, static_cast<std::size_t>(num_columns * kBytes));
    }
    case Way::kShortRows:
      return CopyShortRows(from, to, num_rows, num_columns, {rows().from, columns().from, rows().to},
                           std::make_integer_sequence<std::int64_t, kMaxShort>());
    case Way::kFill:
      for (std::int64_t r = 0; r < num_rows; ++r) std::fill_n(to + r * rows().to, num_columns, from[r * rows().from]);
      return;
    case Way::kReversed:
      for (std::int64_t r = 0; r < num_rows; ++r) CopyReversed(from + r * rows().from, to + r * rows().to, num_columns);
      return;
    case Way::kTranspose:
    case Way::kElements:
      return CopyTiles(from, to, num_rows, num_columns);
  }
}

template <class T>
void StridedCopy::CopyTiles(const T* from, T* to, std::int64_t num_rows, std::int64_t num_columns) const {
  const Axis &row = rows(), &column = columns();
  for (std::int64_t first = 0; first < num_columns; first += kTileColumns) {
    const std::int64_t last = std::min(num_columns, first + kTileColumns);
    if (way_ == Way::kTranspose) {
      Transpose(from + first * column.from, column.from, to + first, row.to, num_rows, last - first);
      continue;
    }
    for (std::int64_t r = 0; r < num_rows; ++r) {
      for (std::int64_t c = first; c < last; ++c) to[r * row.to + c * column.to] = from[r * row.from + c * column.from];
    }
  }
}

}  // namespace amp::kernels
