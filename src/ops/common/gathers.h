// Operators that copy the rows which indices name, lowered to a kernel.
#pragma once

#include <string>
#include <utility>

#include "kernels/elementwise/cast.h"
#include "kernels/movement/gather.h"
#include "nnvm/error.h"
#include "program/kernel_types.h"
#include "program/lower_context.h"

namespace amp {

// What becomes of indices that are out of range.
enum class OutOfRange { kClip, kWrap, kRaise };

// `index` on an axis of `size` > 0 positions; -1 where an error is to be raised.
inline std::int64_t IndexInRange(OutOfRange mode, std::int64_t index, std::int64_t size) {
  if (index >= 0 && index < size) return index;
  if (mode == OutOfRange::kClip) return index < 0 ? 0 : size - 1;
  return mode == OutOfRange::kWrap ? (index % size + size) % size : -1;
}

// Fails as the operators' reference kernels do; `node` describes it.
[[noreturn]] inline void FailAtIndex(const std::string& node, std::int64_t index, std::int64_t size) {
  throw IndexError(fmt::format("{}: index {} is out of range for an axis of size {}", node, index, size));
}

// Which inputs are read, and how many rows of which size are written.
struct GatherShape {
  int data = 0, indices = 1;
  std::int64_t num_rows = 0;
  std::size_t row_bytes = 0;
};

// Row i of output 0 is row place(numbers, i) of the data, where `numbers` are the indices, truncated to integers.
// prepare(numbers, first, last) comes before, for all indices: it may change them.
template <class Prepare, class Place>
bool LowerToGather(LowerContext& c, const GatherShape& shape, Prepare prepare, Place place) {
  const TensorType& indices = c.in_type(shape.indices);
  const kernels::ElementType type = KernelType(indices.dtype);
  const auto count = static_cast<std::size_t>(indices.shape.size()), bytes = kernels::ElementBytes(type);
  const auto run = [=](const KernelOperands& operands) {
    auto* numbers = static_cast<std::int64_t*>(operands.scratch());
    const auto* source = static_cast<const char*>(operands.input(1));
    kernels::ForRowBlocks(static_cast<std::int64_t>(count), bytes, [&](std::int64_t first, std::int64_t last) {
      const auto begin = static_cast<std::size_t>(first), size = static_cast<std::size_t>(last - first);
      kernels::Cast(type, source + begin * bytes, kernels::ElementType::kInt64, numbers + begin, size);
      prepare(numbers, first, last);
    });
    kernels::GatherRows(operands.input(0), operands.output(), shape.num_rows, shape.row_bytes,
                        [&](std::int64_t i) { return place(numbers, i); });
  };
  KernelSpec work{"gather", run, count * sizeof(std::int64_t)};
  work.bytes_read = static_cast<std::size_t>(shape.num_rows) * shape.row_bytes + count * bytes;
  c.SetOut(0, c.Emit(std::move(work), {c.in(shape.data), c.in(shape.indices)}, c.out_type(0)));
  return true;
}

// Brings all indices into the range of an axis. An error names the node, as its reference kernel's does.
inline auto BringInRange(const LowerContext& c, OutOfRange mode, std::int64_t size) {
  const std::string node = mode == OutOfRange::kRaise ? c.node().Describe() : "";
  return [=](std::int64_t* numbers, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t given = numbers[i];
      numbers[i] = IndexInRange(mode, given, size);
      if (numbers[i] < 0) FailAtIndex(node, given, size);
    }
  };
}

}  // namespace amp
