// SequenceMask: elements behind the end of each sequence replaced by a value.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/elementwise/cast.h"
#include "kernels/movement/gather.h"
#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::sequence_mask {
namespace {

struct SequenceMaskParam {
  bool use_sequence_length = false;
  double value = 0;
  std::int64_t axis = 0;
};

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<SequenceMaskParam>();
  r.In(0, r.out(0));
  r.Out(0, r.in(0));
  if (!r.in(0).rank_known()) return;
  if (r.in(0).rank() < 2) FailAt(r.node(), "expected data of rank 2 or more, got {}", r.in(0).ToString());
  if (p.use_sequence_length) r.In(1, Shape{r.in(0)[p.axis == 0 ? 1 : 0]});
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<SequenceMaskParam>();
  if (!p.use_sequence_length) return CopyElements(in[0], out[0]);
  const Shape& shape = in[0].shape();
  const std::int64_t inner = shape.SizeOf(2, shape.rank());
  const std::vector<std::int64_t> lengths = Numbers<std::int64_t>(in[1]);
  WithNumberType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> y = Numbers<T>(in[0]);
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        const std::int64_t time = p.axis == 0 ? i : j, sequence = p.axis == 0 ? j : i;
        if (time < lengths[sequence]) continue;
        std::fill_n(y.begin() + (i * shape[1] + j) * inner, inner, static_cast<T>(p.value));
      }
    }
    Store(y, out[0]);
  });
}

// The bytes of what elements behind the end become.
std::uint64_t MaskBytes(DType dtype, double value) {
  std::uint64_t bytes = 0;
  WithNumberType(dtype, [&](auto zero) {
    NDArray one(dtype, Shape{1});
    Store(std::vector<decltype(zero)>{static_cast<decltype(zero)>(value)}, one);
    std::memcpy(&bytes, one.data(), static_cast<std::size_t>(BytesOf(dtype)));
  });
  return bytes;
}

// Rows of `inner` elements for each position of axes 0 and 1.
struct MaskShape {
  std::int64_t rows, columns, inner;
  bool time_first;
  kernels::ElementType length_type;
};

template <class T>
void Mask(const MaskShape& s, const T* from, const char* lengths, T mask, T* to) {
  const auto row_bytes = static_cast<std::size_t>(s.inner) * sizeof(T);
  kernels::ForRowBlocks(s.rows * s.columns, row_bytes, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t i = row / s.columns, j = row % s.columns;
      std::int64_t length = 0;
      const auto sequence = static_cast<std::size_t>(s.time_first ? j : i);
      kernels::Cast(s.length_type, lengths + sequence * kernels::ElementBytes(s.length_type),
                    kernels::ElementType::kInt64, &length, 1);
      if ((s.time_first ? i : j) < length) {
        std::memcpy(to + row * s.inner, from + row * s.inner, row_bytes);
      } else {
        std::fill_n(to + row * s.inner, s.inner, mask);
      }
    }
  });
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<SequenceMaskParam>();
  const auto& [dtype, shape] = c.in_type(0);
  if (!p.use_sequence_length) return LowerToMove(c, MoveTo(shape, RowMajorStrides(shape)));
  const MaskShape s{shape[0], shape[1], shape.SizeOf(2, shape.rank()), p.axis == 0, KernelType(c.in_type(1).dtype)};
  const std::uint64_t mask = MaskBytes(dtype, p.value);
  const auto bytes = static_cast<std::size_t>(BytesOf(dtype));
  KernelSpec work{"mask", [=](const KernelOperands& operands) {
                    kernels::WithElementOf(bytes, [&](auto zero) {
                      using T = decltype(zero);
                      Mask(s, static_cast<const T*>(operands.input(0)), static_cast<const char*>(operands.input(1)),
                           static_cast<T>(mask), static_cast<T*>(operands.output()));
                    });
                  }};
  c.SetOut(0, c.Emit(std::move(work), {c.in(0), c.in(1)}, c.out_type(0)));
  return true;
}

// What was replaced has no gradient.
void Gradient(GradientContext& c) {
  AttrMap attrs = c.attrs();
  attrs["value"] = "0";
  std::vector<Term> inputs{c.gradient()};
  if (c.num_inputs() > 1) inputs.push_back(c.in(1));
  c.Set(0, c.Call("SequenceMask", inputs, attrs));
}

[[maybe_unused]] const auto kCard =
    RegisterOp<SequenceMaskParam>("SequenceMask")
        .Alias("_npx_sequence_mask")
        .Doc("Sets elements at and behind sequence_length along the time axis to `value`.")
        .Params(ParamSchema<SequenceMaskParam>()
                    .Optional("use_sequence_length", &SequenceMaskParam::use_sequence_length,
                              "There is an input sequence_length (batch); otherwise data passes as it is.")
                    .Optional("value", &SequenceMaskParam::value, "What the rest becomes.")
                    .Optional("axis", &SequenceMaskParam::axis, "The time axis: 0 or 1; the other one is the batch.")
                    .Range(0, 1))
        .Inputs([](const SequenceMaskParam& p) {
          return p.use_sequence_length ? std::vector<std::string>{"data", "sequence_length"}
                                       : std::vector<std::string>{"data"};
        })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          if (r.num_inputs() > 1 && !IsKnown(r.in(1))) r.In(1, DType::kFloat32);
        }})
        .Set(AmpFacts{Arithmetic::kMovesData,
                      {SlotRole::kData, SlotRole::kIndex},
                      [](const Node& node, DType) { return node.params<SequenceMaskParam>().value == 0; }})
        .Set(DataAndConstant([](const Node& node) { return node.params<SequenceMaskParam>().value; }))
        .Set(GradientRule{Gradient})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::sequence_mask
