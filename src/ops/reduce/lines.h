// Lines of an array along one axis, and what operators on them say of their results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"

namespace amp {

// Lines along one axis of an array; without an axis the array is one line.
struct Lines {
  std::int64_t outer, size, inner;

  std::int64_t count() const { return outer * inner; }
  // Element i of a line.
  std::size_t At(std::int64_t line, std::int64_t i) const {
    return static_cast<std::size_t>((line / inner * size + i) * inner + line % inner);
  }
};

inline Lines LinesOf(const Node& node, const std::optional<std::int64_t>& given, const Shape& data) {
  if (!given) return {1, data.size(), 1};
  const int axis = RequireAxis(node, *given, data);
  return {data.SizeOf(0, axis), data[axis], data.SizeOf(axis + 1, data.rank())};
}

// Calls f(line, values of the line) for all lines.
template <class F>
void ForEachLine(const NDArray& data, const Lines& lines, F&& f) {
  WithNumberType(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Numbers<T>(data);
    std::vector<T> line(lines.size);
    for (std::int64_t l = 0; l < lines.count(); ++l) {
      for (std::int64_t i = 0; i < lines.size; ++i) line[i] = x[lines.At(l, i)];
      f(l, line);
    }
  });
}

// Positions along the axis; the values of inputs are compared, so that the smallest change may exchange two of them.
inline ValueRange Positions(const RangeQuery& q, const std::optional<std::int64_t>& axis) {
  const Shape& data = q.in_types[0]->shape;
  if (!data.fully_known()) return {0, ValueRange::kInfinity, true};
  return {0, std::max(0.0, static_cast<double>(LinesOf(q.node, axis, data).size - 1)), true};
}
template <class P>
RangeRule PositionsOf() {
  return {[](const RangeQuery& q, int) { return Positions(q, q.node.params<P>().axis); }};
}
inline InputSensitivity Compares() { return AllInputs(Sensitivity::kDiscontinuous); }

}  // namespace amp
