// _npi_indices: the indices of the elements of a grid.
#include <algorithm>
#include <vector>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::grid_indices {
namespace {

struct IndicesParam {
  IntTuple dimensions;
  DType dtype = DType::kInt32;
};

Shape Grid(const IndicesParam& p) { return Shape(std::vector<std::int64_t>(p.dimensions.begin(), p.dimensions.end())); }

void Reference(const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
  constexpr std::int64_t kStretch = 4096;
  const Shape grid = Grid(node.params<IndicesParam>());
  const auto bytes = static_cast<std::size_t>(BytesOf(out[0].dtype()));
  auto* to = static_cast<char*>(out[0].data());
  for (int axis = 0; axis < grid.rank(); ++axis) {
    const std::int64_t step = grid.SizeOf(axis + 1, grid.rank());
    for (std::int64_t begin = 0; begin < grid.size(); begin += kStretch) {
      std::vector<std::int64_t> values(static_cast<std::size_t>(std::min(kStretch, grid.size() - begin)));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = (begin + static_cast<std::int64_t>(i)) / step % grid[axis];
      }
      kernels::Cast(KernelType(DType::kInt64), values.data(), KernelType(out[0].dtype()), to, values.size());
      to += values.size() * bytes;
    }
  }
}

ValueRange RangeOf(const RangeQuery& q, int) {
  double largest = 0;
  for (const std::int64_t size : q.node.params<IndicesParam>().dimensions) {
    largest = std::max(largest, static_cast<double>(size) - 1);
  }
  return {0, largest, true};
}

[[maybe_unused]] const auto kCard =
    RegisterOp<IndicesParam>("_npi_indices")
        .Doc("The index along each axis of each element of a grid: (number of axes, *dimensions).")
        .Params(ParamSchema<IndicesParam>()
                    .Required("dimensions", &IndicesParam::dimensions, "The sizes of the grid.")
                    .Ignored("ctx")
                    .Optional("dtype", &IndicesParam::dtype, "Dtype of the output."),
                [](IndicesParam& p) {
                  for (const std::int64_t size : p.dimensions) {
                    if (size < 0) Throw<GraphError>("attribute dimensions: {} is no size", size);
                  }
                })
        .Inputs(std::vector<std::string>{})
        .Set(ShapeRule{[](ShapeRelation& r) {
          std::vector<std::int64_t> dims = Grid(r.node().params<IndicesParam>()).dims();
          if (dims.empty()) return r.Out(0, Shape{0});  // as in MXNet
          dims.insert(dims.begin(), static_cast<std::int64_t>(dims.size()));
          r.Out(0, Shape(dims));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<IndicesParam>().dtype); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(RangeRule{RangeOf})
        .Set(ReferenceKernel{Reference})
        .Set(ValuesOfReference());

}  // namespace
}  // namespace amp::grid_indices
