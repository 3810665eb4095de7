// Positions in arrays, as numbers and as indices along axes: _ravel_multi_index, _unravel_index, _contrib_index_array.
#include <algorithm>

#include "ops/common/index_maps.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::ravel {
namespace {

AmpFacts FactsOfPositions() { return {Arithmetic::kNeedsFloat32, {SlotRole::kIndex}, nullptr, true}; }

struct RavelParam {
  IntTuple shape;
};

// MXNet lets the first size be left out as -1: no formula needs it.
void ValidateRavel(RavelParam& p) {
  if (p.shape.empty()) throw GraphError("attribute shape: expected at least one size");
  for (std::size_t i = 0; i < p.shape.size(); ++i) {
    const bool is_open = i == 0 && p.shape[i] == -1;
    if (p.shape[i] < 1 && !is_open) Throw<GraphError>("attribute shape: {} is no size", p.shape[i]);
  }
}

ParamSchema<RavelParam> RavelSchema() {
  return ParamSchema<RavelParam>().Required("shape", &RavelParam::shape, "Of the array; the first size may be -1.");
}

void RavelReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const IntTuple& shape = node.params<RavelParam>().shape;
  const std::vector<std::int64_t> indices = Numbers<std::int64_t>(in[0]);
  const std::size_t count = static_cast<std::size_t>(out[0].size());
  std::vector<std::uint64_t> sums(count, 0);  // indices may be any numbers: sums of these wrap
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto size = static_cast<std::uint64_t>(shape[axis]);
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] = sums[i] * size + static_cast<std::uint64_t>(indices[axis * count + i]);
    }
  }
  Store(std::vector<std::int64_t>(sums.begin(), sums.end()), out[0]);
}

void UnravelReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const IntTuple& shape = node.params<RavelParam>().shape;
  std::vector<std::int64_t> positions = Numbers<std::int64_t>(in[0]);
  std::vector<std::int64_t> indices(positions.size() * shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      indices[axis * positions.size() + i] = axis == 0 ? positions[i] : positions[i] % shape[axis];
      if (axis > 0) positions[i] /= shape[axis];
    }
  }
  Store(indices, out[0]);
}

[[maybe_unused]] const auto kRavel =
    RegisterOp<RavelParam>("_ravel_multi_index")
        .Alias("ravel_multi_index")
        .Doc("Positions (...) in row-major order of indices (axes, ...), a row for each axis of an array.")
        .Params(RavelSchema(), ValidateRavel)
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).rank_known()) return;
          const auto axes = std::ssize(r.node().params<RavelParam>().shape);
          if (r.in(0).rank() < 1 || (r.in(0)[0] >= 0 && r.in(0)[0] != axes)) {
            FailAt(r.node(), "expected indices with {} rows, got shape {}", axes, r.in(0).ToString());
          }
          std::vector<std::int64_t> dims(r.in(0).dims().begin() + 1, r.in(0).dims().end());
          if (dims.empty()) dims.push_back(1);
          r.Out(0, Shape(dims));
        }})
        .Set(SameDType())
        .Set(FactsOfPositions())
        .Set(ZeroGradient{"it gives positions"})
        .Set(ReferenceKernel{RavelReference});

[[maybe_unused]] const auto kUnravel =
    RegisterOp<RavelParam>("_unravel_index")
        .Alias("_npi_unravel_index")
        .Alias("unravel_index")
        .Doc("Indices (axes, ...) of positions (...) in row-major order, a row for each axis of an array.")
        .Params(RavelSchema(), ValidateRavel)
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).rank_known()) return;
          std::vector<std::int64_t> dims = r.in(0).dims();
          dims.insert(dims.begin(), std::ssize(r.node().params<RavelParam>().shape));
          r.Out(0, Shape(dims));
        }})
        .Set(SameDType())
        .Set(FactsOfPositions())
        .Set(ZeroGradient{"it gives positions"})
        .Set(ReferenceKernel{UnravelReference});

struct IndexArrayParam {
  std::optional<IntTuple> axes;
};

std::vector<int> NamedAxesOf(const Node& node, const Shape& data) {
  std::vector<int> axes;
  if (const auto& given = node.params<IndexArrayParam>().axes) {
    for (const std::int64_t axis : *given) axes.push_back(RequireAxis(node, axis, data));
    return axes;
  }
  for (int axis = 0; axis < data.rank(); ++axis) axes.push_back(axis);
  return axes;
}

[[maybe_unused]] const auto kIndexArray =
    RegisterOp<IndexArrayParam>("_contrib_index_array")
        .Alias("_npx_index_array")
        .Doc("The index (..., axes) of every element of the data, int64.")
        .Params(ParamSchema<IndexArrayParam>().Optional("axes", &IndexArrayParam::axes, "The axes; None: all."))
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).rank_known()) return;
          std::vector<std::int64_t> dims = r.in(0).dims();
          dims.push_back(std::ssize(NamedAxesOf(r.node(), r.in(0))));
          r.Out(0, Shape(dims));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, DType::kInt64); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIgnored}, nullptr, true})
        .Set(ZeroGradient{"it depends on the shape alone"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
          const std::vector<std::int64_t>& dims = out[0].shape().dims();
          const Shape shape(std::vector<std::int64_t>(dims.begin(), dims.end() - 1));
          const std::vector<int> axes = NamedAxesOf(node, shape);
          std::vector<std::int64_t> indices;
          for (std::int64_t i = 0; i < shape.size(); ++i) {
            for (const int axis : axes) indices.push_back(i / shape.SizeOf(axis + 1, shape.rank()) % shape[axis]);
          }
          Store(indices, out[0]);
        }});

}  // namespace
}  // namespace amp::ravel
