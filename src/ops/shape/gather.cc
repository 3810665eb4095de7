// Elements that indices name: gather_nd, take, one_hot.
#include <algorithm>
#include <cstring>

#include "ops/common/gathers.h"
#include "ops/common/index_maps.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::gather {
namespace {

// The index slot has any dtype; where nothing says which, it is float32 as in MXNet's own files.
DTypeRule IndexBesideData(int data, int index) {
  return {[data, index](DTypeRelation& r) {
    r.Same({data}, {0});
    if (!IsKnown(r.in(index))) r.In(index, DType::kFloat32);
  }};
}

void CopyRow(const NDArray& from, std::int64_t source, NDArray& to, std::int64_t target, std::size_t row) {
  std::memcpy(to.As<char>() + target * row, from.As<char>() + source * row, row);
}

// Indices that are out of range, as the attribute `mode` has them.
std::int64_t InRange(const Node& node, const std::string& mode, std::int64_t index, std::int64_t size) {
  if (mode == "clip") return std::clamp<std::int64_t>(index, 0, size - 1);
  if (mode == "wrap") return (index % size + size) % size;
  if (index < 0 || index >= size) FailAtIndex(node.Describe(), index, size);
  return index;
}

// indices (M, ...) name the first M axes of the data.
void InferGatherNd(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const Shape &data = r.in(0), &indices = r.in(1);
  if (indices.rank() < 1 || indices[0] > data.rank() || indices[0] < 1) {
    FailAt(r.node(), "indices of shape {} do not name axes of data of shape {}", indices.ToString(), data.ToString());
  }
  std::vector<std::int64_t> dims(indices.dims().begin() + 1, indices.dims().end());
  dims.insert(dims.end(), data.dims().begin() + indices[0], data.dims().end());
  if (dims.empty()) dims.push_back(1);
  r.Out(0, Shape(dims));
}

void GatherNdReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& data = in[0].shape();
  const std::int64_t named = in[1].shape()[0], count = in[1].size() / std::max<std::int64_t>(named, 1);
  const auto row = static_cast<std::size_t>(data.SizeOf(static_cast<int>(named), data.rank()) * BytesOf(in[0].dtype()));
  const std::vector<std::int64_t> indices = Numbers<std::int64_t>(in[1]);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t source = 0;
    for (std::int64_t axis = 0; axis < named; ++axis) {
      const std::int64_t size = data[static_cast<int>(axis)];
      std::int64_t index = indices[axis * count + i];
      if (index < 0) index += size;
      source = source * size + InRange(node, "raise", index, size);
    }
    CopyRow(in[0], source, out[0], i, row);
  }
}

bool LowerGatherNd(LowerContext& c) {
  const Shape &data = c.in_type(0).shape, &indices = c.in_type(1).shape;
  const int named = static_cast<int>(indices[0]);
  const std::int64_t count = indices.size() / named;
  const IntTuple sizes(data.dims().begin(), data.dims().begin() + named);
  const auto bring_in_range = [=, node = c.node().Describe()](std::int64_t* numbers, std::int64_t first,
                                                              std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t size = sizes[static_cast<std::size_t>(i / count)];
      if (numbers[i] < 0) numbers[i] += size;
      if (numbers[i] < 0 || numbers[i] >= size) FailAtIndex(node, numbers[i], size);
    }
  };
  const auto place = [=](const std::int64_t* numbers, std::int64_t row) {
    std::int64_t result = 0;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      result = result * sizes[axis] + numbers[static_cast<std::int64_t>(axis) * count + row];
    }
    return result;
  };
  const auto row_bytes = static_cast<std::size_t>(data.SizeOf(named, data.rank()) * BytesOf(c.in_type(0).dtype));
  return LowerToGather(c, {0, 1, count, row_bytes}, bring_in_range, place);
}

[[maybe_unused]] const auto kGatherNd =
    RegisterOp<NoParam>("gather_nd")
        .Alias("_npi_gather_nd")
        .Alias("_npx_gather_nd")
        .Alias("_npi_advanced_indexing_multiple")
        .Doc("data[indices[0], ..., indices[M - 1]] for indices (M, ...); negative ones count from the end.")
        .Inputs({"data", "indices"})
        .Set(ShapeRule{InferGatherNd})
        .Set(IndexBesideData(0, 1))
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex}, AlwaysCommutes})
        .Set(MoveGradient())
        .Set(ReferenceKernel{GatherNdReference})
        .Set(KernelRule{LowerGatherNd});

struct TakeParam {
  std::int64_t axis = 0;
  std::string mode = "clip";
};

void InferTake(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const int axis = RequireAxis(r.node(), r.node().params<TakeParam>().axis, r.in(0));
  if (r.in(0)[axis] == 0 && r.in(1).size() > 0) FailAt(r.node(), "nothing to take from {}", r.in(0).ToString());
  std::vector<std::int64_t> dims = r.in(0).dims();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, r.in(1).dims().begin(), r.in(1).dims().end());
  r.Out(0, Shape(dims));
}

void TakeReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<TakeParam>();
  const Shape& data = in[0].shape();
  const int axis = RequireAxis(node, p.axis, data);
  const std::int64_t outer = data.SizeOf(0, axis), size = data[axis];
  const auto row = static_cast<std::size_t>(data.SizeOf(axis + 1, data.rank()) * BytesOf(in[0].dtype()));
  std::vector<std::int64_t> indices = Numbers<std::int64_t>(in[1]);
  for (auto& index : indices) index = InRange(node, p.mode, index, size);
  std::int64_t target = 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : indices) CopyRow(in[0], o * size + index, out[0], target++, row);
  }
}

OutOfRange ModeOf(const TakeParam& p) {
  return p.mode == "clip" ? OutOfRange::kClip : p.mode == "wrap" ? OutOfRange::kWrap : OutOfRange::kRaise;
}

std::optional<OutOfRange> RowsOfTake(const Node& node) {
  const auto& p = node.params<TakeParam>();
  return p.axis == 0 ? std::optional(ModeOf(p)) : std::nullopt;
}

bool LowerTake(LowerContext& c) {
  const auto& p = c.node().params<TakeParam>();
  const Shape& data = c.in_type(0).shape;
  const int axis = RequireAxis(c.node(), p.axis, data);
  const std::int64_t outer = data.SizeOf(0, axis), size = data[axis], count = c.in_type(1).shape.size();
  const auto row_bytes = static_cast<std::size_t>(data.SizeOf(axis + 1, data.rank()) * BytesOf(c.in_type(0).dtype));
  const auto bring = BringInRange(c, ModeOf(p), size);
  if (outer == 1) {
    return LowerToGather(c, {0, 1, count, row_bytes}, bring,
                         [](const std::int64_t* numbers, std::int64_t row) { return numbers[row]; });
  }
  return LowerToGather(c, {0, 1, outer * count, row_bytes}, bring, [=](const std::int64_t* numbers, std::int64_t row) {
    return row / count * size + numbers[row % count];
  });
}

[[maybe_unused]] const auto kTake =
    RegisterOp<TakeParam>("take")
        .Alias("_npi_take")
        .Doc("Slices of `a` along an axis, at the positions `indices`.")
        .Params(ParamSchema<TakeParam>()
                    .Optional("axis", &TakeParam::axis, "The axis; may be negative.")
                    .Optional("mode", &TakeParam::mode, "What becomes of indices that are out of range.")
                    .OneOf({"clip", "wrap", "raise"}))
        .Inputs({"a", "indices"})
        .Set(ShapeRule{InferTake})
        .Set(IndexBesideData(0, 1))
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex}, AlwaysCommutes})
        .Set(MoveGradient())
        .Set(LooksUpRows{1, RowsOfTake})
        .Set(ReferenceKernel{TakeReference})
        .Set(KernelRule{LowerTake});

struct OneHotParam {
  std::int64_t depth = 0;
  double on_value = 1;
  double off_value = 0;
  DType dtype = DType::kFloat32;
};

// Rows of `off`, each with an `on` where the index says.
template <class T>
void WriteOneHot(const KernelOperands& operands, kernels::ElementType type, std::int64_t count, std::int64_t depth,
                 T on, T off) {
  const auto bytes = kernels::ElementBytes(type);
  kernels::ForRowBlocks(count, static_cast<std::size_t>(depth) * sizeof(T), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t index = 0;
      const auto* given = static_cast<const char*>(operands.input(0)) + static_cast<std::size_t>(i) * bytes;
      kernels::Cast(type, given, kernels::ElementType::kInt64, &index, 1);
      T* row = static_cast<T*>(operands.output()) + i * depth;
      std::fill_n(row, depth, off);
      if (index >= 0 && index < depth) row[index] = on;
    }
  });
}

bool LowerOneHot(LowerContext& c) {
  const auto& p = c.node().params<OneHotParam>();
  const DType dtype = c.out_type(0).dtype;
  const kernels::ElementType type = KernelType(c.in_type(0).dtype);
  const std::int64_t count = c.in_type(0).shape.size(), depth = p.depth;
  const std::uint64_t on = BytesOfOne(dtype, p.on_value), off = BytesOfOne(dtype, p.off_value);
  KernelSpec work{"one_hot", [=](const KernelOperands& operands) {
                    kernels::WithElementOf(static_cast<std::size_t>(BytesOf(dtype)), [&](auto zero) {
                      using T = decltype(zero);
                      WriteOneHot(operands, type, count, depth, static_cast<T>(on), static_cast<T>(off));
                    });
                  }};
  c.SetOut(0, c.Emit(std::move(work), {c.in(0)}, c.out_type(0)));
  return true;
}

[[maybe_unused]] const auto kOneHot =
    RegisterOp<OneHotParam>("one_hot")
        .Alias("_npx_one_hot")
        .Doc("A new last axis that is on_value at the position that the index names and off_value elsewhere.")
        .Params(ParamSchema<OneHotParam>()
                    .Required("depth", &OneHotParam::depth, "Length of the new axis.")
                    .Range(0, 1 << 30)
                    .Optional("on_value", &OneHotParam::on_value, "At the position.")
                    .Optional("off_value", &OneHotParam::off_value, "Elsewhere.")
                    .Optional("dtype", &OneHotParam::dtype, "Dtype of the output."))
        .Inputs({"indices"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).rank_known()) return;
          std::vector<std::int64_t> dims = r.in(0).dims();
          dims.push_back(r.node().params<OneHotParam>().depth);
          r.Out(0, Shape(dims));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<OneHotParam>().dtype); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {SlotRole::kIndex}})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const auto& p = q.node.params<OneHotParam>();
          return Hull(ValueRange::Of(p.on_value), ValueRange::Of(p.off_value));
        }})
        .Set(ZeroGradient{"it depends on indices alone"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<OneHotParam>();
          const std::vector<std::int64_t> indices = Numbers<std::int64_t>(in[0]);
          std::vector<double> y(out[0].size(), p.off_value);
          for (std::size_t i = 0; i < indices.size(); ++i) {
            if (indices[i] < 0 || indices[i] >= p.depth) continue;
            y[i * static_cast<std::size_t>(p.depth) + static_cast<std::size_t>(indices[i])] = p.on_value;
          }
          Store(y, out[0]);
        }})
        .Set(KernelRule{LowerOneHot});

}  // namespace
}  // namespace amp::gather
