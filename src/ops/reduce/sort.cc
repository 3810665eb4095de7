// Positions and values in order of size: argsort, sort, topk. Equal elements keep their order.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/reduce/sort_rows.h"
#include "ops/common/index_maps.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/reduce/lines.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/kernel_types.h"
#include "program/lower_context.h"
#include "program/reference.h"

namespace amp::sort {
namespace {

// NaN counts as the largest, as in NumPy: without a place of its own it would leave the others unsorted.
template <class T>
bool IsLess(T a, T b) {
  return a < b || (b != b && a == a);
}

// The positions of the line's elements in order of size.
template <class T>
std::vector<std::int64_t> Order(const std::vector<T>& line, bool ascending) {
  std::vector<std::int64_t> order(line.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const T left = line[a], right = line[b];
    return ascending ? IsLess(left, right) : IsLess(right, left);
  });
  return order;
}

// The first `chosen` of each line in order; nullopt where the kernel cannot sort them.
std::optional<kernels::SortRows> SortOf(LowerContext& c, const Lines& lines, std::int64_t chosen, bool ascending) {
  kernels::SortRows work;
  work.type = KernelType(c.in_type(0).dtype);
  if (lines.size > kernels::SortRows::kMaxSize || lines.size == 0) return std::nullopt;
  if (!kernels::SortRows::IsElementType(work.type)) return std::nullopt;
  work.outer = lines.outer;
  work.size = lines.size;
  work.inner = lines.inner;
  work.chosen = chosen;
  work.ascending = ascending;
  return work;
}

// Emits SortOf. `elements` and `positions`: which outputs these are; below 0: none is.
bool LowerSort(LowerContext& c, const Lines& lines, std::int64_t chosen, bool ascending, int elements, int positions) {
  const auto sort = SortOf(c, lines, chosen, ascending);
  if (!sort) return false;
  kernels::SortRows work = *sort;
  if (positions >= 0) work.position_type = KernelType(c.out_type(positions).dtype);
  if (!kernels::SortRows::IsPositionType(work.position_type)) return false;
  const auto run = [work, elements, positions](const KernelOperands& operands) {
    const auto output = [&](int i) { return i < 0 ? nullptr : operands.output(static_cast<std::size_t>(i)); };
    work.Run(operands.input(0), output(elements), output(positions), operands.scratch());
  };
  const std::vector<ValueId> outputs =
      c.EmitSeveral(KernelSpec{"sort", run, work.ScratchBytes()}, {c.in(0)}, c.out_types());
  for (std::size_t i = 0; i < outputs.size(); ++i) c.SetOut(static_cast<int>(i), outputs[i]);
  return true;
}

// Ones where the first `chosen` of each line are.
bool LowerMask(LowerContext& c, const Lines& lines, std::int64_t chosen, bool ascending) {
  const auto sort = SortOf(c, lines, chosen, ascending);
  if (!sort) return false;
  kernels::SortRows work = *sort;
  work.position_type = kernels::ElementType::kInt64;
  const auto run = [work](const KernelOperands& operands) {
    work.Run(operands.input(0), nullptr, operands.output(), operands.scratch());
  };
  const Lines result{lines.outer, chosen, lines.inner};
  const Shape shape{lines.outer, chosen, lines.inner};
  const ValueId positions = c.Emit(KernelSpec{"sort", run, work.ScratchBytes()}, {c.in(0)}, {DType::kInt64, shape});
  const TensorType& out = c.out_type(0);
  const auto bytes = static_cast<std::size_t>(BytesOf(out.dtype));
  const auto total = static_cast<std::size_t>(out.bytes());
  const auto mark = [lines, result, bytes, total, one = BytesOfOne(out.dtype, 1)](const KernelOperands& operands) {
    const auto* at = static_cast<const std::int64_t*>(operands.input(0));
    auto* to = static_cast<char*>(operands.output());
    std::memset(to, 0, total);
    for (std::int64_t line = 0; line < lines.count(); ++line) {
      for (std::int64_t i = 0; i < result.size; ++i) {
        std::memcpy(to + lines.At(line, at[result.At(line, i)]) * bytes, &one, bytes);
      }
    }
  };
  c.SetOut(0, c.Emit(KernelSpec{"mask", mark}, {positions}, out));
  return true;
}

struct ArgSortParam {
  std::optional<std::int64_t> axis = -1;
  bool is_ascend = true;
  std::optional<bool> is_ascend_s;
  DType dtype = DType::kFloat32;
};

// Without an axis the output is flat.
Shape Sorted(const std::optional<std::int64_t>& axis, const Shape& data) { return axis ? data : Shape{data.size()}; }

[[maybe_unused]] const auto kArgSort =
    RegisterOp<ArgSortParam>("argsort")
        .Alias("_npi_argsort")
        .Doc("The positions of the elements in order of size.")
        .Params(ParamSchema<ArgSortParam>()
                    .Optional("axis", &ArgSortParam::axis, "The axis; None: the data is flattened.")
                    .Optional("is_ascend", &ArgSortParam::is_ascend, "The smallest comes first.")
                    .Optional("is_ascend_s", &ArgSortParam::is_ascend_s, "is_ascend, as MXNet 2.0 spells it in files.")
                    .Optional("dtype", &ArgSortParam::dtype, "Dtype of the output."),
                [](ArgSortParam& p) { p.is_ascend = p.is_ascend_s.value_or(p.is_ascend); })
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          const auto& axis = r.node().params<ArgSortParam>().axis;
          LinesOf(r.node(), axis, r.in(0));
          r.Out(0, Sorted(axis, r.in(0)));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<ArgSortParam>().dtype); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(PositionsOf<ArgSortParam>())
        .Set(Compares())
        .Set(ZeroGradient{"it gives positions"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<ArgSortParam>();
          const Lines lines = LinesOf(node, p.axis, in[0].shape());
          std::vector<std::int64_t> y(out[0].size());
          ForEachLine(in[0], lines, [&](std::int64_t line, const auto& values) {
            const std::vector<std::int64_t> order = Order(values, p.is_ascend);
            for (std::int64_t i = 0; i < lines.size; ++i) y[lines.At(line, i)] = order[i];
          });
          Store(y, out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<ArgSortParam>();
          const Lines lines = LinesOf(c.node(), p.axis, c.in_type(0).shape);
          return LowerSort(c, lines, lines.size, p.is_ascend, -1, 0);
        }});

struct TakeAlongParam {
  std::optional<std::int64_t> axis = -1;
};

void InferTakeAlong(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const auto& axis = r.node().params<TakeAlongParam>().axis;
  Shape expected = Sorted(axis, r.in(0));
  const int along = axis ? RequireAxis(r.node(), *axis, expected) : 0;
  if (r.in(1).rank() == expected.rank()) expected[along] = r.in(1)[along];
  r.In(1, expected);
  r.Out(0, expected);
}

void TakeAlongReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& axis = node.params<TakeAlongParam>().axis;
  const Lines lines = LinesOf(node, axis, in[0].shape()), chosen = LinesOf(node, axis, in[1].shape());
  const std::vector<std::int64_t> positions = Numbers<std::int64_t>(in[1]);
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  for (std::int64_t line = 0; line < lines.count(); ++line) {
    for (std::int64_t i = 0; i < chosen.size; ++i) {
      const std::size_t to = chosen.At(line, i);
      const std::int64_t given = positions[to], from = given < 0 ? given + lines.size : given;
      if (from < 0 || from >= lines.size) {
        FailAt(node, "index {} is out of range for an axis of size {}", given, lines.size);
      }
      std::memcpy(out[0].As<char>() + to * bytes, in[0].As<char>() + lines.At(line, from) * bytes, bytes);
    }
  }
}

[[maybe_unused]] const auto kTakeAlong =
    RegisterOp<TakeAlongParam>("_take_along_axis")
        .Doc("The elements of each line of data at its own positions; negative ones count from behind.")
        .Params(ParamSchema<TakeAlongParam>().Optional("axis", &TakeAlongParam::axis,
                                                       "The axis of lines; None: the data is flattened."))
        .Inputs({"data", "positions"})
        .Set(ShapeRule{InferTakeAlong})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Same({0}, {0}); }})
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIndex}, AlwaysCommutes})
        .Set(MoveGradient())
        .Set(ReferenceKernel{TakeAlongReference});

// The gradient of what was chosen from lines of the data, to the places where it was.
Term GradientOfChosen(GradientContext& c, const std::optional<std::int64_t>& axis, const Term& positions) {
  return MoveBack(c.gradient(), "_take_along_axis", {{"axis", PrintAttr(axis)}}, {c.in(0), positions});
}

struct SortParam {
  std::optional<std::int64_t> axis = -1;
  bool is_ascend = true;
};

void SortReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<SortParam>();
  const Lines lines = LinesOf(node, p.axis, in[0].shape());
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  ForEachLine(in[0], lines, [&](std::int64_t line, const auto& values) {
    const std::vector<std::int64_t> order = Order(values, p.is_ascend);
    for (std::int64_t i = 0; i < lines.size; ++i) {
      std::memcpy(out[0].As<char>() + lines.At(line, i) * bytes, in[0].As<char>() + lines.At(line, order[i]) * bytes,
                  bytes);
    }
  });
}

[[maybe_unused]] const auto kSort =
    RegisterOp<SortParam>("sort")
        .Alias("_npi_sort")
        .Doc("The elements in order of size.")
        .Params(ParamSchema<SortParam>()
                    .Optional("axis", &SortParam::axis, "The axis; None: the data is flattened.")
                    .Optional("is_ascend", &SortParam::is_ascend, "The smallest comes first."))
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          const auto& axis = r.node().params<SortParam>().axis;
          LinesOf(r.node(), axis, r.in(0));
          r.Out(0, Sorted(axis, r.in(0)));
        }})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<SortParam>();
          const Term order =
              c.Call("argsort", {c.in(0)},
                     {{"axis", PrintAttr(p.axis)}, {"is_ascend", PrintAttr(p.is_ascend)}, {"dtype", "int64"}});
          c.Set(0, GradientOfChosen(c, p.axis, order));
        }})
        .Set(ReferenceKernel{SortReference})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<SortParam>();
          const Lines lines = LinesOf(c.node(), p.axis, c.in_type(0).shape);
          return LowerSort(c, lines, lines.size, p.is_ascend, 0, -1);
        }});

struct TopKParam {
  std::optional<std::int64_t> axis = -1;
  std::int64_t k = 1;
  std::string ret_typ = "indices";
  bool is_ascend = false;
  DType dtype = DType::kFloat32;
};

bool GivesValues(const TopKParam& p) { return p.ret_typ == "value" || p.ret_typ == "both"; }

// k below 1 means all.
std::int64_t Chosen(const Node& node, const TopKParam& p, const Lines& lines) {
  if (p.k > lines.size) FailAt(node, "k {} is more than the {} elements that there are", p.k, lines.size);
  return p.k < 1 ? lines.size : p.k;
}

void InferTopK(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const auto& p = r.node().params<TopKParam>();
  const std::int64_t chosen = Chosen(r.node(), p, LinesOf(r.node(), p.axis, r.in(0)));
  Shape out = p.ret_typ == "mask" ? r.in(0) : Sorted(p.axis, r.in(0));
  if (p.ret_typ != "mask") out[p.axis ? RequireAxis(r.node(), *p.axis, out) : 0] = chosen;
  for (int i = 0; i < r.num_outputs(); ++i) r.Out(i, out);
}

void InferTopKDType(DTypeRelation& r) {
  const auto& p = r.node().params<TopKParam>();
  if (GivesValues(p) || p.ret_typ == "mask") r.Same({0}, {0});
  if (p.ret_typ == "indices") r.Out(0, p.dtype);
  if (r.num_outputs() > 1) r.Out(1, p.dtype);
}

void TopKReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<TopKParam>();
  const Lines lines = LinesOf(node, p.axis, in[0].shape());
  const std::int64_t chosen = Chosen(node, p, lines);
  const bool mask = p.ret_typ == "mask";
  const Lines result{lines.outer, mask ? lines.size : chosen, lines.inner};
  const auto size = static_cast<std::size_t>(result.outer * result.size * result.inner);
  std::vector<std::int64_t> positions(size, 0);
  std::vector<double> elements(size);
  std::vector<std::int64_t> whole(size);  // 64-bit integers are no doubles
  ForEachLine(in[0], lines, [&](std::int64_t line, const auto& values) {
    const std::vector<std::int64_t> order = Order(values, p.is_ascend);
    for (std::int64_t i = 0; i < chosen; ++i) {
      const std::int64_t position = order[i];
      if (mask) {
        positions[result.At(line, position)] = 1;
        continue;
      }
      positions[result.At(line, i)] = position;
      elements[result.At(line, i)] = static_cast<double>(values[position]);
      if (!IsFloat(in[0].dtype())) {
        whole[result.At(line, i)] = static_cast<std::int64_t>(values[position]);
      }
    }
  });
  const bool values_first = GivesValues(p);
  if (out[0].defined() && !values_first) Store(positions, out[0]);
  if (out[0].defined() && values_first) IsFloat(in[0].dtype()) ? Store(elements, out[0]) : Store(whole, out[0]);
  if (out.size() > 1 && out[1].defined()) Store(positions, out[1]);
}

bool LowerTopK(LowerContext& c) {
  const auto& p = c.node().params<TopKParam>();
  const Lines lines = LinesOf(c.node(), p.axis, c.in_type(0).shape);
  if (p.ret_typ == "mask") return LowerMask(c, lines, Chosen(c.node(), p, lines), p.is_ascend);
  const int elements = GivesValues(p) ? 0 : -1, positions = p.ret_typ == "both" ? 1 : p.ret_typ == "indices" ? 0 : -1;
  return LowerSort(c, lines, Chosen(c.node(), p, lines), p.is_ascend, elements, positions);
}

[[maybe_unused]] const auto kTopK =
    RegisterOp<TopKParam>("topk")
        .Alias("_npx_topk")
        .Doc("The k largest elements in order: their positions, their values, both, or a mask of where they are.")
        .Params(ParamSchema<TopKParam>()
                    .Optional("axis", &TopKParam::axis, "The axis; None: the data is flattened.")
                    .Optional("k", &TopKParam::k, "How many; below 1: all.")
                    .Optional("ret_typ", &TopKParam::ret_typ, "What the outputs are.")
                    .OneOf({"value", "indices", "mask", "both"})
                    .Optional("is_ascend", &TopKParam::is_ascend, "The k smallest instead.")
                    .Optional("dtype", &TopKParam::dtype, "Dtype of positions."))
        .Inputs({"data"})
        .Outputs([](const TopKParam& p) {
          return p.ret_typ == "both" ? NumberedNames("output", 2) : std::vector<std::string>{"output"};
        })
        .VisibleOutputs([](const TopKParam& p) { return p.ret_typ == "both" ? 2 : 1; })
        .Set(ShapeRule{InferTopK})
        .Set(DTypeRule{InferTopKDType})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
        .Set(RangeRule{[](const RangeQuery& q, int index) {
          const auto& p = q.node.params<TopKParam>();
          if (index == 0 && GivesValues(p)) return q.in[0];
          return p.ret_typ == "mask" ? ValueRange::Between(0, 1, true) : Positions(q, p.axis);
        }})
        .Set(Compares())
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<TopKParam>();
          if (!GivesValues(p) || !c.has_gradient(0)) return;  // positions do not change
          AttrMap attrs = c.attrs();
          attrs["ret_typ"] = "indices";
          attrs["dtype"] = "int64";
          c.Set(0, GradientOfChosen(c, p.axis, c.Call("topk", {c.in(0)}, attrs)));
        }})
        .Set(ReferenceKernel{TopKReference})
        .Set(KernelRule{LowerTopK});

}  // namespace
}  // namespace amp::sort
