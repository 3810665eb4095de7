#include "kernels/reduce/sort_rows.h"

#include <algorithm>

#include "kernels/base/float_bits.h"
#include "kernels/elementwise/element_types.h"
#include "kernels/reduce/radix_sort.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// Unsigned numbers in the order of the elements.
std::uint32_t KeyOf(float x) { return SortKeyOf(x); }
std::uint32_t KeyOf(std::int32_t x) { return static_cast<std::uint32_t>(x) ^ 0x80000000u; }

std::uint32_t KeyOf(BFloat16 x) { return SortKeyOf(BF16ToFloat(x.bits)); }
std::uint32_t KeyOf(Half x) { return SortKeyOf(HalfToFloat(x.bits)); }

// Calls f with a zero of the type; false for another type.
template <class F>
bool WithElementType(ElementType type, const F& f) {
  using enum ElementType;
  return WithTypeAmong<kFloat32, kBFloat16, kFloat16, kInt32, kInt8, kUInt8>(type, f);
}
template <class F>
bool WithPositionType(ElementType type, const F& f) {
  using enum ElementType;
  return WithTypeAmong<kFloat32, kFloat64, kInt32, kInt64>(type, f);
}

// One line of the source, and the same line of the results.
struct Line {
  const SortRows& work;
  std::int64_t first, first_result;
  std::uint64_t* entries;

  Line(const SortRows& lines, std::int64_t line, std::uint64_t* scratch)
      : work(lines),
        first(line / lines.inner * lines.size * lines.inner + line % lines.inner),
        first_result(line / lines.inner * lines.chosen * lines.inner + line % lines.inner),
        entries(scratch + line * 2 * lines.size) {}

  // Keys in the upper halves, positions in the lower ones.
  template <class T>
  void Sort(const T* x) const {
    const std::uint32_t flip = work.ascending ? 0 : 0xFFFFFFFFu;
    for (std::int64_t i = 0; i < work.size; ++i) {
      entries[i] = std::uint64_t{KeyOf(x[first + i * work.inner]) ^ flip} << 32 | static_cast<std::uint64_t>(i);
    }
    SortByUpperHalf(entries, entries + work.size, KeepSmallest(entries, work.size, work.chosen));
  }
  std::int64_t At(std::int64_t i) const { return static_cast<std::int64_t>(entries[i] & 0xFFFFFFFFu); }

  template <class T>
  void WriteElements(const T* x, T* elements) const {
    for (std::int64_t i = 0; i < work.chosen; ++i) {
      elements[first_result + i * work.inner] = x[first + At(i) * work.inner];
    }
  }
  template <class T>
  void WritePositions(T* positions) const {
    for (std::int64_t i = 0; i < work.chosen; ++i) positions[first_result + i * work.inner] = static_cast<T>(At(i));
  }
};

}  // namespace

bool SortRows::IsElementType(ElementType type) {
  return WithElementType(type, [](auto) {});
}
bool SortRows::IsPositionType(ElementType type) {
  return WithPositionType(type, [](auto) {});
}

std::size_t SortRows::ScratchBytes() const {
  return static_cast<std::size_t>(outer * size * inner) * 2 * sizeof(std::uint64_t);
}

void SortRows::Run(const void* x, void* elements, void* positions, void* scratch) const {
  const std::int64_t grain = std::max<std::int64_t>(1, 2048 / size);
  ParallelFor(outer * inner, grain, [&](std::int64_t i) {
    const Line line(*this, i, static_cast<std::uint64_t*>(scratch));
    WithElementType(type, [&](auto zero) {
      using T = decltype(zero);
      line.Sort(static_cast<const T*>(x));
      if (elements != nullptr) line.WriteElements(static_cast<const T*>(x), static_cast<T*>(elements));
    });
    if (positions == nullptr) return;
    WithPositionType(position_type, [&](auto zero) { line.WritePositions(static_cast<decltype(zero)*>(positions)); });
  });
}

}  // namespace amp::kernels
