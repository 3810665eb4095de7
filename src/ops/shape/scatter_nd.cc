// scatter_nd: elements to places that indices name.
#include <cstring>

#include "ops/common/gathers.h"
#include "ops/common/index_maps.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::scatter_nd {
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

// Rows are written one after the other, because the last of equal places counts.
bool Lower(LowerContext& c) {
  const Shape &out = c.out_type(0).shape, &indices = c.in_type(1).shape;
  const int named = static_cast<int>(indices[0]);
  const std::int64_t count = indices.size() / named;
  const IntTuple sizes(out.dims().begin(), out.dims().begin() + named);
  const auto row_bytes = static_cast<std::size_t>(out.SizeOf(named, out.rank()) * BytesOf(c.out_type(0).dtype));
  const auto bytes = static_cast<std::size_t>(c.out_type(0).bytes()),
             num_indices = sizes.size() * static_cast<std::size_t>(count);
  const auto run = [=, node = c.node().Describe(),
                    type = KernelType(c.in_type(1).dtype)](const KernelOperands& operands) {
    auto* numbers = static_cast<std::int64_t*>(operands.scratch());
    kernels::Cast(type, operands.input(1), kernels::ElementType::kInt64, numbers, num_indices);
    std::memset(operands.output(), 0, bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t row = 0;
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        const std::int64_t index = numbers[static_cast<std::int64_t>(axis) * count + i];
        if (index < 0 || index >= sizes[axis]) FailAtIndex(node, index, sizes[axis]);
        row = row * sizes[axis] + index;
      }
      std::memcpy(static_cast<char*>(operands.output()) + static_cast<std::size_t>(row) * row_bytes,
                  static_cast<const char*>(operands.input(0)) + static_cast<std::size_t>(i) * row_bytes, row_bytes);
    }
  };
  KernelSpec work{"scatter", run, num_indices * sizeof(std::int64_t)};
  c.SetOut(0, c.Emit(std::move(work), {c.in(0), c.in(1)}, c.out_type(0)));
  return true;
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
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("gather_nd", {c.gradient(), c.in(1)}));
        }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::scatter_nd
