// scatter_nd: elements to places that indices name.
#include <cstring>

#include "ops/places.h"
#include "ops/ranges.h"
#include "ops/rules.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp {
namespace {

struct ScatterParam {
  IntTuple shape;
};

void Validate(ScatterParam& p) {
  for (const std::int64_t size : p.shape) {
    if (size < 0) Throw<GraphError>("attribute shape: {} is no size", size);
  }
}

// indices (M, K...) name the first M axes of the output; the data is (K..., the others).
void InferShape(ShapeRelation& r) {
  const Shape out(r.node().params<ScatterParam>().shape);
  r.Out(0, out);
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const Shape& indices = r.in(1);
  if (indices.rank() < 1 || indices[0] < 1 || indices[0] > out.rank()) {
    FailAt(r.node(), "indices of shape {} do not name axes of shape {}", indices.ToString(), out.ToString());
  }
  std::vector<std::int64_t> dims(indices.dims().begin() + 1, indices.dims().end());
  dims.insert(dims.end(), out.dims().begin() + indices[0], out.dims().end());
  if (dims.empty()) dims.push_back(1);
  r.In(0, Shape(dims));
}

std::int64_t RowOf(const Node& node, const std::vector<std::int64_t>& indices, std::int64_t count, std::int64_t i,
                   const Shape& out) {
  std::int64_t row = 0;
  for (std::int64_t axis = 0; axis * count + i < static_cast<std::int64_t>(indices.size()); ++axis) {
    const std::int64_t size = out[static_cast<int>(axis)], index = indices[axis * count + i];
    if (index < 0 || index >= size) FailAt(node, "index {} is out of range for an axis of size {}", index, size);
    row = row * size + index;
  }
  return row;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = out[0].shape();
  const int named = static_cast<int>(in[1].shape()[0]);
  const std::int64_t count = in[1].size() / named;
  const auto bytes = static_cast<std::size_t>(shape.SizeOf(named, shape.rank()) * BytesOf(in[0].dtype()));
  const std::vector<std::int64_t> indices = Numbers<std::int64_t>(in[1]);
  CopyElements(NDArray::Zeros(out[0].dtype(), shape), out[0]);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(RowOf(node, indices, count, i, shape));
    if (bytes != 0) {
      std::memcpy(out[0].As<char>() + row * bytes, in[0].As<char>() + i * bytes, bytes);
    }
  }
}

[[maybe_unused]] const auto kCard =
    RegisterOp<ScatterParam>("scatter_nd")
        .Doc("Zeros, and out[indices[0], ..., indices[M - 1]] = data; of equal places the last one counts.")
        .Params(ParamSchema<ScatterParam>().Required("shape", &ScatterParam::shape, "Shape of the output."), Validate)
        .Inputs({"data", "indices"})
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          if (!IsKnown(r.in(1))) r.In(1, DType::kFloat32);
        }})
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex}, AlwaysCommutes})
        .Set(DataAndZero())
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp
